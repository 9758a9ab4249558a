"""The report: one HTML file, its figures in it, no script, readable on a phone and on paper."""

import base64
import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import resources

from bentham import __version__
from bentham.reproduce.beyond import ratios
from bentham.reproduce.claims import Claim, Measurement, Verdict
from bentham.reproduce.comparisons import SUPPLY
from bentham.reproduce.drawing import Drawn
from bentham.reproduce.evidence import TITLES, Evidence
from bentham.reproduce.plan import DEEPLEARNING, SYNTHETIC
from bentham.tables.standin import CLASSIFIERS, CURATED, STANDIN, spread

KINDS = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.PART: ("part", "◐"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.UNTESTED: ("untested", "?"),
}
GLOSSARY = {
    "study": "one dataset and the models to choose among: a user of the paper",
    "regret": "a study's best score minus its best so far. Instantaneous: the mean over studies at "
    "a time. Cumulative: its sum over studies, integrated over time",
    "EI": "the expected improvement of a study's best score by a trial; EI per cost: divided by "
    "the device time that the trial takes",
    "mdmt": "the paper's MM-GP-EI: of all models of all studies, the one of highest EI per cost",
    "round robin": "studies in turn. The paper does not say how it chooses a study's model: read "
    "as by EI, and as by EI per cost",
    "warm start": "every study's two fastest models go first, whatever the policy, but for the "
    "learned defaults and the oracle",
    "levels": "20 values of the instantaneous regret, from that at the end of the warm start to a "
    "twentieth of it; a speed-up is a ratio of the times at which the mean regret falls to a level",
    "A's regret over B's": "a ratio run by run, their geometric mean: above 1, B is better",
    "T, M, N, K": "time, devices, studies, and the prior covariance of all scores",
    "MIU": "maximal incremental uncertainty (Section 5.1): how much doubt is left in one score "
    "given others, at most, summed",
    "doubt": "the posterior standard deviation of a score when its trial begins",
}
SECTIONS = (
    ("One device (Figure 2)", "figure-2-", True),
    ("More devices (Figure 3)", "figure-3-", True),
    ("Four and eight devices (Figure 4)", "figure-4-", True),
    ("The synthetic problem (Figure 5)", "figure-5-", False),
    ("Causes: cost, and the spread of scores", ("cost-", "spread", "studies"), False),
    ("Theory (Section 5)", ("bound-", "miu", "rate"), False),
    ("Beyond the paper", "beyond-", False),
)
NAMES = {"default": "learned defaults", "gp-ucb": "gp-ucb", "oracle": "oracle"}


def page(
    claims: Sequence[Claim], figures: Sequence[Drawn], evidence: Evidence, command: str
) -> str:
    """The whole document; `command` makes it again."""
    parts = [
        _head(claims, evidence, command),
        _summary(claims),
        _glossary(),
        "<h2 id='claims'>Claim by claim</h2>",
        "<p>The paper's statements in our words; what was measured, with 95 % intervals; and the "
        "rule by which the program came to the verdict.</p>",
        *(_claim(claim) for claim in claims),
        "<h2 id='figures'>Figures</h2>",
        *_sections(figures, evidence),
        _beyond(evidence),
        _data(evidence),
    ]
    style = resources.files("bentham.reproduce").joinpath("report.css").read_text(encoding="utf-8")
    return (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>MM-GP-EI, reproduced</title><style>{style}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _head(claims: Sequence[Claim], evidence: Evidence, command: str) -> str:
    scale = evidence.scale
    tally = ", ".join(
        f"{escape(verdict.value)}: {sum(claim.verdict is verdict for claim in claims)}"
        for verdict in Verdict
        if any(claim.verdict is verdict for claim in claims)
    )
    reconstructed = (
        " What was supplied as DEEPLEARNING is taken for a reconstruction of the paper's."
        if evidence.has_deeplearning
        else ""
    )
    missing = "" if evidence.has_deeplearning else f"<p class='missing'>{escape(SUPPLY)}.</p>"
    return (
        "<header><h1>MM-GP-EI, reproduced: what the paper claims, and what holds here</h1>"
        "<p>Yu, Karlaš, Zhong, Zhang, Liu: <cite>AutoML from Service Provider's Perspective: "
        "Multi-device, Multi-tenant Model Selection with GP-EI</cite>. "
        f"Made by Bentham {escape(__version__)} with <code>{escape(command)}</code>.</p>"
        f"<p><strong>{len(claims)} claims. {tally.capitalize()}.</strong> Verdicts are derived "
        "from the numbers by the program. The paper's AZURE table was never published: in its "
        "place stands a table of the same shape, cut from really trained models, and called a "
        f"stand-in throughout.{reconstructed}</p>"
        f"<p class='soft'>Scale: {escape(scale.name)}; {scale.repeats} runs of each policy on each "
        f"of the paper's tables, {scale.synthetic} on the synthetic one (learned defaults: "
        f"{scale.learned}), {scale.probes} on each further table; {scale.rates} and {scale.bounds} "
        "of each problem of the theory. In each run 8 studies drawn at random set the prior and "
        "the others are served, their two fastest models first.</p>"
        f"{missing}</header>"
    )


def _glossary() -> str:
    entries = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in GLOSSARY.items()
    )
    return f"<h2>Words</h2><dl>{entries}</dl>"


def _summary(claims: Sequence[Claim]) -> str:
    rows = [
        [
            f"<a href='#{claim.name}'>{escape(claim.statement)}</a>",
            f"<span class='soft'>{escape(claim.where)}</span>",
            _badge(claim.verdict),
        ]
        for claim in claims
    ]
    return "<h2>In short</h2>" + _table(["claim", "in the paper", "verdict"], rows, kind="summary")


def _badge(verdict: Verdict) -> str:
    kind, sign = KINDS[verdict]
    return f"<span class='verdict {kind}'>{sign} {escape(verdict.value)}</span>"


def _claim(claim: Claim) -> str:
    kind, _ = KINDS[claim.verdict]
    numbers = _table(
        ["measured", "value", "95 % interval", "paper"],
        [_measured(number) for number in claim.measured],
        numeric=(1, 2, 3),
    )
    why = f"<p><strong>Analysis.</strong> {escape(claim.why)}</p>" if claim.why else ""
    return (
        f"<section class='claim {kind}' id='{claim.name}'><h3>{escape(claim.statement)}</h3>"
        f"<p>{_badge(claim.verdict)} <span class='soft'>· {escape(claim.where)}</span></p>"
        f"{numbers if claim.measured else ''}{why}"
        f"<p class='soft'><strong>Rule.</strong> {escape(claim.rule)}</p></section>"
    )


def _measured(number: Measurement) -> list[str]:
    interval = _interval(number.low, number.high)
    claimed = "" if number.claimed is None else _short(number.claimed)
    return [escape(number.what), _short(number.value), interval, claimed]


def _sections(figures: Sequence[Drawn], evidence: Evidence) -> Iterable[str]:
    for title, prefix, needs_deeplearning in SECTIONS:
        yield f"<h3>{escape(title)}</h3><div class='figures'>"
        for figure in figures:
            if figure.name.startswith(prefix):
                yield _figure(figure)
        if needs_deeplearning and not evidence.has_deeplearning:
            yield f"<p class='missing'>{escape(SUPPLY)}.</p>"
        yield "</div>"


def _figure(figure: Drawn) -> str:
    image = base64.b64encode(figure.svg.read_bytes()).decode("ascii")
    described = escape(f"{figure.title}. {figure.caption}", quote=True)
    return (
        f'<figure id="{figure.name}"><img alt="{described}" '
        f'src="data:image/svg+xml;base64,{image}">'
        f"<figcaption>{escape(figure.caption)}</figcaption></figure>"
    )


def _beyond(evidence: Evidence) -> str:
    rows = [
        [
            escape(TITLES.get(table, table)),
            escape(NAMES[variant]),
            str(devices),
            _short(ratio.value),
            _interval(ratio.low, ratio.high),
        ]
        for table, variant, devices, ratio in ratios(evidence)
    ]
    return (
        "<h3>Beyond the paper, in numbers</h3><p>Cumulative regret as a ratio to that of the "
        "paper's configuration in the same runs: below 1 is better. The learned defaults and the "
        "oracle need no warm start.</p>"
        + _table(["table", "policy", "devices", "ratio", "95 % interval"], rows, numeric=(2, 3, 4))
    )


def _data(evidence: Evidence) -> str:
    standin = evidence.tables[STANDIN]
    names = {f"openml-{number}": name for number, name in CURATED.items()}
    cells = [
        [
            escape(f"{study} {names[study]}"),
            *(f"{score:.3f}" for score in scores),
            f"{deviation:.3f}",
        ]
        for study, scores, deviation in zip(
            standin.studies, standin.scores, spread(standin), strict=True
        )
    ]
    matched = _table(
        ["of Azure ML Studio", "in its place (oboe)"],
        [[escape(ours), f"<code>{escape(theirs)}</code>"] for ours, theirs in CLASSIFIERS.items()],
    )
    deeplearning = (
        f"The table supplied as DEEPLEARNING has {len(evidence.tables[DEEPLEARNING].studies)} "
        f"studies x {len(evidence.tables[DEEPLEARNING].models)} models (the paper: 22 x 8) and a "
        f"mean standard deviation of {_mean_spread(evidence, DEEPLEARNING):.3f} (the paper: 0.04)."
        if evidence.has_deeplearning
        else "DEEPLEARNING was not available for this report."
    )
    return (
        "<h2 id='data'>Data</h2>"
        f"<p><strong>The AZURE stand-in</strong>: {len(standin.studies)} datasets with two classes "
        f"x {len(standin.models)} classifiers, balanced accuracy, time in seconds. The mean over "
        f"studies of the standard deviation over models is "
        f"<strong>{_mean_spread(evidence, STANDIN):.3f}; the paper states 0.12 for AZURE</strong>. "
        f"{escape(deeplearning)} The synthetic table ({escape(SYNTHETIC)}) is our draw of the "
        "paper's description. Where each comes from, how the classifiers were matched and what "
        "could not be known is in docs/reproduction.md and docs/tables.md.</p>"
        + matched
        + _table(
            ["study", *standin.models, "deviation"],
            cells,
            numeric=range(1, len(standin.models) + 2),
            kind="wide",
        )
    )


def _mean_spread(evidence: Evidence, table: str) -> float:
    return float(spread(evidence.tables[table]).mean())


def _table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numeric: Sequence[int] | range = (),
    kind: str = "",
) -> str:
    def row(cells: Sequence[str], tag: str, wrap: Callable[[str], str] = str) -> str:
        return "".join(
            f"<{tag}{' class=number' if place in numeric else ''}>{wrap(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return (
        f"<div class='scroll {kind}'><table><thead><tr>{row(header, 'th', escape)}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None or not math.isfinite(high):
        return ""
    return f"{_short(low)} to {_short(high)}"


def _short(number: float | None) -> str:
    """Three digits that say something."""
    if number is None:
        return ""
    if number == round(number) and abs(number) < 1e6:
        return f"{number:.0f}"
    if abs(number) < 5e-4:  # nothing here is that small and not rounding
        return "0"
    return f"{number:.3g}" if abs(number) < 1e5 else f"{number:.1e}"
