// A model: its labels, their positions in the taxonomy, and which of them a document gets.

export class Model {
  constructor(card, taxonomy) {
    this.card = card;
    this.labels = new Map(taxonomy.labels.map(one => [one.label, one]));
    this.above = new Map();
    this.givable = taxonomy.labels.filter(one => one.threshold !== null).length;
    // A single root that is no label is not shown: it would only indent all others.
    const [root] = taxonomy.roots;
    this.root = taxonomy.roots.length === 1 && this.labels.get(root)?.threshold === null ? root : null;
  }

  title(label) {
    return this.labels.get(label)?.title || label;
  }

  threshold(label) {
    return this.labels.get(label)?.threshold ?? null;
  }

  // The score that a label must reach; null where the top k labels are given, whatever their scores.
  thresholdOf(label, threshold) {
    return threshold ?? (this.card.takes_best ? null : this.threshold(label));
  }

  // The initial value of the slider: the median of the model's own thresholds.
  get usualThreshold() {
    const thresholds = [...this.labels.values()].map(one => one.threshold).filter(one => one !== null).sort((a, b) => a - b);
    return thresholds[Math.floor(thresholds.length / 2)] ?? 0.5;
  }

  // The shortest path to a label, the same as the server's.
  path(label) {
    const path = [];
    for (let step = label; step !== undefined && step !== this.root; step = this.highestParent(step)) path.unshift(step);
    return path;
  }

  highestParent(label) {
    const level = parent => this.labels.get(parent)?.level ?? 0;
    const parents = this.labels.get(label)?.parents ?? [];
    return parents.reduce((best, parent) => (best === undefined || level(parent) < level(best) ? parent : best), undefined);
  }

  // The labels of a document at one threshold for all; without one those that the server gave it, as the model was trained.
  // The rules are the same as the server's, so that moving the slider needs no request.
  given(found, threshold) {
    if (threshold === null) return found.trained;
    if (found.warning) return new Set();
    const sorted = [...found.scores].sort(([, a], [, b]) => b - a);
    const chosen = new Set(sorted.filter(([, score]) => score >= threshold).map(([label]) => label));
    for (const [label] of sorted.slice(0, this.card.at_least)) chosen.add(label);
    if (this.card.hierarchy === "add-ancestors") this.addAncestors(chosen);
    if (this.card.hierarchy === "drop-orphans") this.dropOrphans(chosen);
    return chosen;
  }

  // The score below which a document may lack labels at this threshold, since only its best scores were loaded; null if none.
  lowestLoaded(found, threshold) {
    const isLacking = threshold !== null && found.lowest !== null && threshold < found.lowest && found.scores.size < this.givable;
    return isLacking ? found.lowest : null;
  }

  // The nearest ancestors that the model can give. Memorised, since the number of paths may grow exponentially.
  parentsGivable(label) {
    if (!this.above.has(label)) {
      const found = (this.labels.get(label)?.parents ?? [])
        .flatMap(parent => this.threshold(parent) === null ? this.parentsGivable(parent) : [parent]);
      this.above.set(label, [...new Set(found)]);
    }
    return this.above.get(label);
  }

  // A loop over a set also visits what is added meanwhile, and each label once.
  addAncestors(chosen) {
    for (const label of chosen) for (const parent of this.parentsGivable(label)) chosen.add(parent);
  }

  dropOrphans(chosen) {
    for (const label of this.labels.keys()) {  // parents come before their children
      const parents = this.parentsGivable(label);
      if (parents.length && !parents.some(parent => chosen.has(parent))) chosen.delete(label);
    }
  }
}
