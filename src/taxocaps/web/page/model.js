// A model: its labels, their positions in the taxonomy, and which of them a document gets.

const MOST_PATHS = 20;

export class Model {
  constructor(card, taxonomy) {
    this.card = card;
    this.labels = new Map(taxonomy.labels.map(one => [one.label, one]));
    this.positions = new Map(taxonomy.labels.map((one, position) => [one.label, position]));
    this.above = new Map();
    this.known = new Map();
    this.givable = taxonomy.labels.filter(one => one.threshold !== null).length;
    // A single root that is no label is not shown: it would only indent all others.
    const [root] = taxonomy.roots;
    this.top = taxonomy.roots.length === 1 ? root : null;
    this.root = this.threshold(this.top) === null ? this.top : null;
  }

  name(label) {
    return this.labels.get(label)?.name || label;
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

  // All paths to a label, the shortest first, found by the same search as the server's (taxocaps.taxonomy.paths).
  paths(label) {
    if (!this.known.has(label)) this.known.set(label, this.findPaths(label));
    return this.known.get(label);
  }

  // What stands above a label on each of its paths, in names; nothing for one at the top.
  placesOf(label) {
    return this.paths(label).map(path => path.slice(0, -1).map(step => this.name(step)).join(" › ")).filter(Boolean);
  }

  findPaths(label) {
    const found = [], parents = step => step === this.root ? [] : this.parents(step);
    const level = step => this.labels.get(step)?.level ?? 0;
    const waiting = label === this.root ? [] : [{ length: level(label), ranks: [], steps: [label] }];
    while (waiting.length && found.length < MOST_PATHS) {
      const { ranks, steps } = waiting.splice(first(waiting), 1)[0], above = parents(steps.at(-1));
      if (!above.length) found.push(steps.filter(step => step !== this.root).reverse());
      above.forEach((parent, rank) =>
        waiting.push({ length: steps.length + level(parent), ranks: [...ranks, rank], steps: [...steps, parent] }));
    }
    return found;
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
      const found = this.parents(label)
        .flatMap(parent => this.threshold(parent) === null ? this.parentsGivable(parent) : [parent]);
      this.above.set(label, [...new Set(found)]);
    }
    return this.above.get(label);
  }

  // All ancestors but the root, also those without a score of their own. A loop over a set also visits what is added
  // meanwhile, and each label once.
  addAncestors(chosen) {
    for (const label of chosen) for (const parent of this.parents(label)) if (parent !== this.top) chosen.add(parent);
  }

  // The scores of the labels that a document gets and of all others that were loaded. If ancestors are added, they are at
  // least as probable as what is below.
  scoresOf(found, given) {
    const scores = new Map([...given, ...found.scores.keys()].map(label => [label, found.scores.get(label) ?? 0]));
    if (this.card.hierarchy !== "add-ancestors") return scores;
    const upwards = [...scores.keys()].sort((a, b) => this.positions.get(b) - this.positions.get(a));  // children before parents
    for (const label of upwards) for (const parent of this.parents(label)) {
      if (parent !== this.top && scores.has(parent)) scores.set(parent, Math.max(scores.get(parent), scores.get(label)));
    }
    return scores;
  }

  parents(label) {
    return this.labels.get(label)?.parents ?? [];
  }

  dropOrphans(chosen) {
    for (const label of this.labels.keys()) {  // parents come before their children
      const parents = this.parentsGivable(label);
      if (parents.length && !parents.some(parent => chosen.has(parent))) chosen.delete(label);
    }
  }
}

// The index of the shortest path; of several, of the one whose parents come first.
function first(waiting) {
  let best = 0;
  for (let index = 1; index < waiting.length; index++) if (isBefore(waiting[index], waiting[best])) best = index;
  return best;
}

function isBefore(one, other) {
  if (one.length !== other.length) return one.length < other.length;
  const at = one.ranks.findIndex((rank, index) => rank !== other.ranks[index]);
  return at >= 0 && one.ranks[at] < (other.ranks[at] ?? -1);
}
