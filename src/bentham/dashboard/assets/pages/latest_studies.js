// The first page of a tenant: its studies, the open ones first.

import { h, link } from "/assets/dom.js";
import { plural } from "/assets/format.js";
import { panel } from "/assets/parts.js";
import { applyEvent, studyTable } from "/assets/pages/study_table.js";

const MOST = 12;
const COLUMNS = ["Study", "State", "Metric", "Best score", "Best model", "Baseline", "Gain, 1 h",
  "Gain, 24 h", "Tried"];

export function latestStudies(context) {
  const studies = new Map();
  let pool = null;
  const list = studyTable("Your studies", { pool: () => pool, columns: COLUMNS, empty: "No studies yet." });
  const more = h("p.quiet");
  const node = panel("Your studies", list.node, more);

  const draw = () => list.set([...studies.values()]);

  async function read() {
    const [open, newest, owners, found] = await Promise.all([
      context.get(`/studies?state=open&limit=${MOST}`), context.get(`/studies?limit=${MOST}`),
      context.get("/tenants"), context.get("/overview"),
    ]);
    pool = found;
    studies.clear();
    for (const study of [...open.items, ...newest.items]) {
      if (studies.size < MOST) studies.set(study.id, study);
    }
    const count = owners.items.reduce((sum, tenant) => sum + tenant.studies, 0);
    more.replaceChildren(count > studies.size
      ? link("#/studies", `All ${plural(count, "study", "studies")}`) : "");
    draw();
  }

  const reread = context.renewer(read, 2);
  const redraw = context.renewer(async () => draw(), 1);
  return {
    node,
    read,
    take(event) {
      if (event?.kind.startsWith("trial-")) applyEvent(studies.get(event.study), event);
      else if (event !== null && event.kind !== "no-device" && !event.kind.startsWith("study-")) return;
      redraw();
      reread();
    },
  };
}
