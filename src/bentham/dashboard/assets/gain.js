// The figures of a decision, and of what comes next: one expected improvement and one EI rate.

import { known, number } from "/assets/format.js";

// What it was ranked by, given the running trials. A warm start is not ranked: its EI rate is alone, as
// if nothing else were running.
export const rateName = (each) => (known(each.value) ? "EI rate" : "EI rate alone");
export const rate = (each) => (known(each.value) ? each.value : each.rate);
export const gain = (each) => (known(each.value) ? each.value * each.cost : each.expected_improvement);

// Whether running trials have changed the figures of a decision.
export const countsRunning = (decision) => known(decision.value) && number(decision.value) !== number(decision.rate);
