"""The report: one HTML file with embedded figures and no scripts, for screen, phone and paper."""

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
    "study": "one dataset and the models to choose from; the paper calls it a user",
    "regret": "the best score of a study's models minus its best score so far. Instantaneous "
    "regret: the mean over studies at one time. Cumulative regret: the sum over studies, "
    "integrated over time",
    "EI": "the expected improvement of a study's best score by a trial. EI per cost: EI divided by "
    "the trial's device time",
    "mdmt": "the paper's MM-GP-EI: runs the model with the highest EI per cost of all studies",
    "round robin": "serves studies in turn. The paper does not say how it chooses a study's model, "
    "so there are two readings: by EI, and by EI per cost",
    "warm start": "each study's two fastest models run first, under every policy except the "
    "learned defaults and the oracle",
    "levels": "20 values of the instantaneous regret, from its value at the end of the warm start "
    "to a twentieth of that. A speed-up is the ratio of the times at which the mean regret falls "
    "to a level",
    "regret, A / B": "the ratio of the regrets of A and B in each run, as the geometric mean over "
    "runs: above 1, B is better",
    "gain": "the ratio of cumulative regrets without and with the improvement in question",
    "exponent of A in B": "the p for which A changes like B to the power of p",
    "T, M, N, K": "time, number of devices, number of studies, and the prior covariance of all "
    "scores",
    "MIU": "maximal incremental uncertainty (Section 5.1): the largest uncertainty that can remain "
    "in one score given others, summed",
    "uncertainty": "the posterior standard deviation of a score; for a trial, that at its start",
}
SECTIONS = (
    ("One device (Figure 2)", "figure-2-", True),
    ("More devices (Figure 3)", "figure-3-", True),
    ("Four and eight devices (Figure 4)", "figure-4-", True),
    ("The synthetic problem (Figure 5)", "figure-5-", False),
    ("Causes: cost, spread of scores, number of studies", ("cost-", "spread", "studies"), False),
    ("Theory (Section 5)", ("bound-", "miu", "rate"), False),
    ("Beyond the paper", "beyond-", False),
)
NAMES = {"default": "learned defaults", "gp-ucb": "gp-ucb", "oracle": "oracle"}


def page(
    claims: Sequence[Claim], figures: Sequence[Drawn], evidence: Evidence, command: str
) -> str:
    """Return the whole document; `command` is the command that reproduces it."""
    parts = [
        _head(claims, evidence, command),
        _summary(claims),
        _glossary(),
        "<h2 id='claims'>Claim by claim</h2>",
        "<p>For each claim: the paper's statement in our words, the measurements with 95 % "
        "intervals, and the rule by which the program derives the verdict.</p>",
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
        f"<title>MM-GP-EI reproduced</title><style>{style}</style></head><body>\n"
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
        " The supplied DEEPLEARNING table is taken to be a reconstruction of the paper's."
        if evidence.has_deeplearning
        else ""
    )
    missing = "" if evidence.has_deeplearning else f"<p class='missing'>{escape(SUPPLY)}.</p>"
    return (
        "<header><h1>MM-GP-EI reproduced: the paper's claims, and which of them hold</h1>"
        "<p>Yu, Karlaš, Zhong, Zhang, Liu: <cite>AutoML from Service Provider's Perspective: "
        "Multi-device, Multi-tenant Model Selection with GP-EI</cite>. "
        f"Generated by Bentham {escape(__version__)} with <code>{escape(command)}</code>.</p>"
        f"<p><strong>{len(claims)} claims. {tally.capitalize()}.</strong> Verdicts are derived "
        "from the numbers by the program. The paper's AZURE table was never published. This report "
        "uses a table of the same shape instead, with measured scores of trained models, and calls "
        f"it the stand-in.{reconstructed}</p>"
        f"<p class='soft'>Scale: {escape(scale.name)}; {scale.repeats} runs of each policy on each "
        f"of the paper's tables, {scale.synthetic} on the synthetic one (learned defaults: "
        f"{scale.learned}), {scale.probes} on each further table; for the theory, {scale.rates} "
        f"runs per problem for rates and {scale.bounds} for bounds. In each run on a table, 8 "
        "studies drawn at random set the prior and the others are served, their two fastest models "
        "first.</p>"
        f"{missing}</header>"
    )


def _glossary() -> str:
    entries = "".join(
        f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>" for word, meaning in GLOSSARY.items()
    )
    return f"<h2>Glossary</h2><dl>{entries}</dl>"


def _summary(claims: Sequence[Claim]) -> str:
    rows = [
        [
            f"<a href='#{claim.name}'>{escape(claim.statement)}</a>",
            f"<span class='soft'>{escape(claim.where)}</span>",
            _badge(claim.verdict),
        ]
        for claim in claims
    ]
    return "<h2>Summary</h2>" + _table(["claim", "in the paper", "verdict"], rows, kind="summary")


def _badge(verdict: Verdict) -> str:
    kind, symbol = KINDS[verdict]
    return f"<span class='verdict {kind}'>{symbol} {escape(verdict.value)}</span>"


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
    return [escape(number.name), _short(number.value), interval, claimed]


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
        "<h3>Beyond the paper, in numbers</h3><p>Cumulative regret relative to that of the "
        "paper's configuration in the same runs: below 1 is better. The learned defaults and the "
        "oracle have no warm start.</p>"
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
        ["classifier of Azure ML Studio", "used in its place (oboe)"],
        [[escape(name), f"<code>{escape(model)}</code>"] for name, model in CLASSIFIERS.items()],
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
        f"{escape(deeplearning)} The synthetic table ({escape(SYNTHETIC)}) is our own draw, made "
        "according to the paper's description. docs/reproduction.md and docs/tables.md describe "
        "where each table comes from, how the classifiers were matched, and what is unknown.</p>"
        + matched
        + _table(
            ["study", *standin.models, "standard deviation"],
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
    """Format a number with three significant digits."""
    if number is None:
        return ""
    if number == round(number) and abs(number) < 1e6:
        return f"{number:.0f}"
    if abs(number) < 5e-4:  # a number this small is a rounding error here
        return "0"
    return f"{number:.3g}" if abs(number) < 1e5 else f"{number:.1e}"
