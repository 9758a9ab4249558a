"""Comparisons beyond the paper: the learned defaults, the predecessor and the oracle."""

from typing import Any

from bentham.reproduce.claims import Measurement
from bentham.reproduce.comparisons import gain
from bentham.reproduce.curves import IntervalEstimate
from bentham.reproduce.evidence import Evidence
from bentham.reproduce.plan import BEYOND, COMPARED_DEVICES, SYNTHETIC, SYNTHETIC_DEVICES

Row = tuple[str, str, int, IntervalEstimate]


def ratios(evidence: Evidence) -> list[Row]:
    """Return rows of (table, variant, devices, cumulative regret relative to the paper's)."""
    compared = [
        (table, variant, devices)
        for table in evidence.compared
        for variant in BEYOND
        for devices in COMPARED_DEVICES
    ] + [(SYNTHETIC, variant, devices) for variant in BEYOND for devices in SYNTHETIC_DEVICES]
    return [
        (table, variant, devices, gain(evidence, table, variant, devices))
        for table, variant, devices in compared
    ]


def beyond(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the same rows as JSON data."""
    return [
        {"table": table, "variant": variant, "devices": devices}
        | Measurement.of("cumulative regret relative to the paper's configuration", ratio).plain()
        for table, variant, devices, ratio in ratios(evidence)
    ]
