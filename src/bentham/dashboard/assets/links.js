// Links to the pages of studies and decisions.

import { address, breakable, link } from "/assets/dom.js";

export const toStudy = (id, name) => link(address("studies", id), breakable(name));

// A decision has the id of its trial.
export const toDecision = (trial, ...children) => link(address("decisions", trial), ...children);
