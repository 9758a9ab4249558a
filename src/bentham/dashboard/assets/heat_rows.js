// The rows and columns of the heatmap: compact storage of the data, filtering and order.

export const STATES = ["untried", "running", "observed", "failed"];
export const [UNTRIED, RUNNING, OBSERVED, FAILED] = STATES.keys();

// The values that cells can show: name, and whether the scale is logarithmic.
export const KINDS = {
  observed: { name: "Observed score", log: false },
  mean: { name: "Posterior mean", log: false },
  sigma: { name: "Uncertainty", log: false },
  rate: { name: "EI rate alone", log: true },
};

export class Rows {
  models = []; // names of all columns, in the order of first appearance
  shown = []; // the rows that are shown, in order
  columns = new Int32Array(0); // indexes of the models that these rows list
  #places = new Map(); // a model's name -> its index in `models`
  #rows = new Map(); // a study -> its row
  #newest = 0;
  #oldest = 0;
  #text = "";
  #order = "newest";
  #metric = null;

  get all() {
    return [...this.#rows.values()];
  }

  get size() {
    return this.#rows.size;
  }

  get(study) {
    return this.#rows.get(study);
  }

  // Add a response of /heatmap; return whether any of its studies is new. Pages are read newest first;
  // studies that appear later are `newer` than the stored ones.
  add({ models, items }, newer = false) {
    const places = models.map((name) => {
      if (!this.#places.has(name)) {
        this.#places.set(name, this.models.length);
        this.models.push(name);
      }
      return this.#places.get(name);
    });
    let added = false;
    for (const item of newer ? items.toReversed() : items) {
      const before = this.#rows.get(item.study);
      const row = packedRow(item, places);
      row.number = before?.number ?? (newer ? (this.#newest += 1) : (this.#oldest -= 1));
      this.#rows.set(item.study, row);
      if (!before) added = true;
      else this.#replace(before, row);
    }
    return added;
  }

  #replace(before, row) {
    const place = this.shown.indexOf(before);
    if (place >= 0) this.shown[place] = row;
  }

  // The metrics of all rows with the numbers of their studies, the most frequent first.
  metrics() {
    const counts = new Map();
    for (const { metric } of this.#rows.values()) counts.set(metric, (counts.get(metric) ?? 0) + 1);
    return [...counts].sort(([one, many], [other, more]) => more - many || names.compare(one, other));
  }

  // Show the rows with a metric (all if it is null) that contain a text, in this order: newest, name,
  // best, uncertainty.
  arrange(order = this.#order, text = this.#text, metric = this.#metric) {
    this.#order = order;
    this.#text = text.trim().toLowerCase();
    this.#metric = metric;
    this.shown = this.all
      .filter((row) => (metric === null || row.metric === metric) && row.search.includes(this.#text))
      .sort((one, other) => compare(one, other, order));
    const used = new Uint8Array(this.models.length);
    for (const row of this.shown) for (const column of row.columns) used[column] = 1;
    this.columns = Int32Array.from(used.keys()).filter((column) => used[column]);
    // The shown column of each model; 0 for models that are not shown.
    this.slots = new Int32Array(this.models.length);
    this.columns.forEach((column, slot) => (this.slots[column] = slot));
  }

  // The cell of a row in a shown column; null if the study does not list the model.
  cell(row, slot) {
    const place = lowerBound(row, this.columns[slot]);
    if (row.columns[place] !== this.columns[slot]) return null;
    return {
      model: this.models[this.columns[slot]],
      state: STATES[row.states[place]],
      observed: row.observed[place],
      mean: row.mean[place],
      sigma: row.sigma[place],
      rate: row.rate[place],
    };
  }
}

// The index of the first entry of a row at or after a column.
export function lowerBound(row, column) {
  let [low, high] = [0, row.columns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.columns[middle] < column) low = middle + 1;
    else high = middle;
  }
  return low;
}

function packedRow(item, places) {
  const columns = item.columns.map((place) => places[place]);
  const order = columns.map((_, place) => place).sort((a, b) => columns[a] - columns[b]);
  const numbers = (values) => Float64Array.from(order, (place) => values[place] ?? NaN);
  const row = {
    study: item.study,
    name: item.name,
    tenant: item.tenant,
    state: item.state,
    metric: item.metric,
    search: `${item.name}\n${item.tenant ?? ""}`.toLowerCase(),
    columns: Int32Array.from(order, (place) => columns[place]),
    states: Uint8Array.from(order, (place) => Math.max(0, STATES.indexOf(item.states[place]))),
    observed: numbers(item.observed),
    mean: numbers(item.mean),
    sigma: numbers(item.sigma),
    rate: numbers(item.rate),
  };
  row.best = row.observed.reduce((best, value) => (value > best ? value : best), -Infinity);
  const known = row.sigma.filter(Number.isFinite);
  row.meanSigma = known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -1;
  return row;
}

const names = new Intl.Collator("en", { numeric: true });

function compare(one, other, order) {
  if (order === "name") return names.compare(one.name, other.name) || other.number - one.number;
  if (order === "best") return other.best - one.best || other.number - one.number;
  if (order === "uncertainty") return other.meanSigma - one.meanSigma || other.number - one.number;
  return other.number - one.number;
}
