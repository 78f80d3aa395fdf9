// What the page knows of a model: its labels, their places in the taxonomy, and which of them a document gets.

export class Model {
  constructor(card, taxonomy) {
    this.card = card;
    this.labels = new Map(taxonomy.labels.map(one => [one.label, one]));
    this.above = new Map();
    this.givable = taxonomy.labels.filter(one => one.threshold !== null).length;
    // One root that is no label stands for the whole taxonomy; to show it would only indent all others.
    const [root] = taxonomy.roots;
    this.root = taxonomy.roots.length === 1 && this.labels.get(root)?.threshold === null ? root : null;
  }

  title(label) {
    return this.labels.get(label)?.title || label;
  }

  threshold(label) {
    return this.labels.get(label)?.threshold ?? null;
  }

  // The score from which on a label is given; none where the best few are, whatever their scores.
  cutOf(label, cut) {
    return cut ?? (this.card.rule === "top-k" ? null : this.threshold(label));
  }

  // Where the slider stands before anybody moves it: about where the model's own cuts are.
  get usualCut() {
    const cuts = [...this.labels.values()].map(one => one.threshold).filter(cut => cut !== null).sort((a, b) => a - b);
    return cuts[Math.floor(cuts.length / 2)] ?? 0.5;
  }

  // The shortest way down to a label, as the server tells it.
  path(label) {
    const way = [];
    for (let step = label; step !== undefined && step !== this.root; step = this.highestParent(step)) way.unshift(step);
    return way;
  }

  highestParent(label) {
    const level = parent => this.labels.get(parent)?.level ?? 0;
    const parents = this.labels.get(label)?.parents ?? [];
    return parents.reduce((best, parent) => (best === undefined || level(parent) < level(best) ? parent : best), undefined);
  }

  // The labels of a document at one cut for all; without a cut those that the server gave it, as the model was trained.
  // The rules are those of the server, so that the slider need not ask it.
  given(found, cut) {
    if (cut === null) return found.trained;
    if (found.warning) return new Set();
    const sorted = [...found.scores].sort(([, a], [, b]) => b - a);
    const chosen = new Set(sorted.filter(([, score]) => score >= cut).map(([label]) => label));
    for (const [label] of sorted.slice(0, this.card.at_least)) chosen.add(label);
    if (this.card.hierarchy === "add-ancestors") this.addAncestors(chosen);
    if (this.card.hierarchy === "drop-orphans") this.dropOrphans(chosen);
    return chosen;
  }

  // The score below which a document may lack labels at this cut, since only its best are held; null if it lacks none.
  lowestHeld(found, cut) {
    const isLacking = cut !== null && found.lowest !== null && cut < found.lowest && found.scores.size < this.givable;
    return isLacking ? found.lowest : null;
  }

  // The nearest ancestors that the model can give. Each is found once: in a taxonomy with many ways up, ways are countless.
  parentsGivable(label) {
    if (!this.above.has(label)) {
      const found = (this.labels.get(label)?.parents ?? [])
        .flatMap(parent => this.threshold(parent) === null ? this.parentsGivable(parent) : [parent]);
      this.above.set(label, [...new Set(found)]);
    }
    return this.above.get(label);
  }

  // A loop over a set also comes to what is added meanwhile, and to each label once.
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
