// The rows and columns of the heatmap: what was read, in little room, and in which order it is shown.

export const STATES = ["untried", "running", "observed", "failed"];
export const [UNTRIED, RUNNING, OBSERVED, FAILED] = STATES.keys();

// What a cell can show: its name, and whether it spans orders of magnitude.
export const KINDS = {
  observed: { name: "Observed score", log: false },
  mean: { name: "Posterior mean", log: false },
  sigma: { name: "Uncertainty", log: false },
  rate: { name: "EI rate", log: true },
};

export class Rows {
  models = []; // names of all columns, in the order in which they were met
  shown = []; // rows in the order in which they are shown
  columns = new Int32Array(0); // of these rows, which of the models they list
  #places = new Map(); // a model's name -> its place in `models`
  #rows = new Map(); // a study -> its row
  #newest = 0;
  #oldest = 0;
  #text = "";
  #order = "newest";

  get all() {
    return [...this.#rows.values()];
  }

  get size() {
    return this.#rows.size;
  }

  get(study) {
    return this.#rows.get(study);
  }

  // Take in an answer of /heatmap; whether any of its studies was not there before. Pages come
  // newest first; what comes after all of them is `newer` than what is here.
  take({ models, items }, newer = false) {
    const places = models.map((name) => {
      if (!this.#places.has(name)) {
        this.#places.set(name, this.models.length);
        this.models.push(name);
      }
      return this.#places.get(name);
    });
    let grown = false;
    for (const item of newer ? items.toReversed() : items) {
      const before = this.#rows.get(item.study);
      const row = packed(item, places);
      row.number = before?.number ?? (newer ? (this.#newest += 1) : (this.#oldest -= 1));
      this.#rows.set(item.study, row);
      if (!before) grown = true;
      else this.#replace(before, row);
    }
    return grown;
  }

  #replace(before, row) {
    const place = this.shown.indexOf(before);
    if (place >= 0) this.shown[place] = row;
  }

  // Show those rows that hold a text, in this order: newest, name, best, uncertainty.
  arrange(order = this.#order, text = this.#text) {
    this.#order = order;
    this.#text = text.trim().toLowerCase();
    this.shown = this.all
      .filter((row) => row.search.includes(this.#text))
      .sort((one, other) => compare(one, other, order));
    const used = new Uint8Array(this.models.length);
    for (const row of this.shown) for (const column of row.columns) used[column] = 1;
    this.columns = Int32Array.from(used.keys()).filter((column) => used[column]);
    // Where a model is shown; filled in only for those that are.
    this.slots = new Int32Array(this.models.length);
    this.columns.forEach((column, slot) => (this.slots[column] = slot));
  }

  // What a row says of the model in a column that is shown; null where it does not list it.
  cell(row, slot) {
    const place = from(row, this.columns[slot]);
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

// The first of a row's entries at or after a column.
export function from(row, column) {
  let [low, high] = [0, row.columns.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.columns[middle] < column) low = middle + 1;
    else high = middle;
  }
  return low;
}

function packed(item, places) {
  const columns = item.columns.map((place) => places[place]);
  const order = columns.map((_, place) => place).sort((a, b) => columns[a] - columns[b]);
  const numbers = (values) => Float64Array.from(order, (place) => values[place] ?? NaN);
  const row = {
    study: item.study,
    name: item.name,
    tenant: item.tenant,
    state: item.state,
    search: `${item.name}\n${item.tenant ?? ""}`.toLowerCase(),
    columns: Int32Array.from(order, (place) => columns[place]),
    states: Uint8Array.from(order, (place) => Math.max(0, STATES.indexOf(item.states[place]))),
    observed: numbers(item.observed),
    mean: numbers(item.mean),
    sigma: numbers(item.sigma),
    rate: numbers(item.rate),
  };
  row.best = row.observed.reduce((most, value) => (value > most ? value : most), -Infinity);
  const known = row.sigma.filter(Number.isFinite);
  row.doubt = known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : -1;
  return row;
}

const names = new Intl.Collator("en", { numeric: true });

function compare(one, other, order) {
  if (order === "name") return names.compare(one.name, other.name) || other.number - one.number;
  if (order === "best") return other.best - one.best || other.number - one.number;
  if (order === "uncertainty") return other.doubt - one.doubt || other.number - one.number;
  return other.number - one.number;
}
