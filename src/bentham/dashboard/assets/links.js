// Links to the pages of studies and decisions.

import { address, link } from "/assets/dom.js";

export const toStudy = (id, ...children) => link(address("studies", id), ...children);

// A decision has the id of its trial.
export const toDecision = (trial, ...children) => link(address("decisions", trial), ...children);
