"""Replaying the written events of a run gives identical decisions."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.problems import random_problem

from bentham.core import event_from_dict, event_to_dict, verify
from bentham.core.problem.events import ArmObserved, ArmStarted
from bentham.errors import InvalidRecording
from bentham.sim import (
    ORACLE,
    POLICY_NAMES,
    Disturbances,
    Recording,
    read_recording,
    simulate,
    write_recording,
)


def record(seed: int, policy: str, layout: str, path: Path) -> Recording:
    problem = random_problem(seed, layout, studies=6)
    run = simulate(
        problem.studies,
        problem.truth,
        problem.prior,
        policy,
        devices=3,
        seed=seed,
        disturbances=Disturbances(failure=0.1, loss=0.15, repair=0.7),
    )
    recording = Recording(
        policy,
        "fastest:2",
        seed,
        problem.prior,
        run.events,
        truth=problem.truth if policy == ORACLE else None,
    )
    write_recording(path, recording)
    return recording


@given(
    seed=st.integers(0, 1000),
    policy=st.sampled_from(POLICY_NAMES),
    layout=st.sampled_from(["shared", "product", "joint"]),
)
@settings(max_examples=40)
def test_write_read_and_replay(
    tmp_path_factory: pytest.TempPathFactory, seed: int, policy: str, layout: str
) -> None:
    path = tmp_path_factory.mktemp("recording") / "events.jsonl"
    recording = record(seed, policy, layout, path)
    restored = read_recording(path)
    assert restored.events == recording.events
    assert verify(restored.scheduler(), restored.events) == []


REPLAYS = """
import sys
import bentham.cli
for path in sys.argv[1:]:
    sys.argv = ["bentham", "replay", path, "--json"]
    try:
        bentham.cli.main()
    except SystemExit as end:
        assert not end.code, path
    print(end="\\0", flush=True)
"""


@pytest.mark.outside
@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_in_a_fresh_process_with_another_hash_seed(hash_seed: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{policy}.jsonl" for policy in POLICY_NAMES]
    recordings = [
        record(3, policy, "joint", path) for policy, path in zip(POLICY_NAMES, paths, strict=True)
    ]
    done = subprocess.run(
        [sys.executable, "-c", REPLAYS, *paths],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *outputs, rest = done.stdout.split("\0")
    assert rest == ""
    for recording, output in zip(recordings, outputs, strict=True):
        decisions = sum(isinstance(event, ArmStarted) for event in recording.events)
        assert json.loads(output) == {
            "events": len(recording.events), "decisions": decisions, "differences": [],
        }  # fmt: skip


def test_a_changed_decision_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    record(3, "mdmt", "shared", path)
    lines = path.read_text().splitlines()
    index = next(i for i, line in enumerate(lines) if '"reason": "policy"' in line)
    event = json.loads(lines[index])
    event["decision"]["rate"] *= 1.5
    lines[index] = json.dumps(event)
    path.write_text("\n".join(lines))
    restored = read_recording(path)
    differences = verify(restored.scheduler(), restored.events)
    assert [difference.recorded.trial for difference in differences] == [event["decision"]["trial"]]


def test_every_event_survives_json() -> None:
    problem = random_problem(1)
    run = simulate(
        problem.studies,
        problem.truth,
        problem.prior,
        disturbances=Disturbances(failure=0.2, loss=0.3),
    )
    kinds = set()
    for event in run.events:
        data = json.loads(json.dumps(event_to_dict(event)))
        kinds.add(data["event"])
        assert event_from_dict(data) == event
    assert kinds >= {"study-added", "device-added", "device-removed", "trial-started",
                     "trial-completed", "trial-failed", "trial-lost"}  # fmt: skip


def change_line(path: Path, line: int, change: dict[str, Any]) -> None:
    lines = path.read_text().splitlines()
    data = json.loads(lines[line])
    for key, value in change.items():
        if value is None:
            del data[key]
        else:
            data[key] = value
    lines[line] = json.dumps(data)
    path.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (0, {"format": 99}),
        (0, {"format": True}),
        (0, {"seed": "5"}),
        (0, {"warm_start": 5}),
        (0, {"policy": ["mdmt"]}),
        (0, {"policy": "oracle"}),
        (0, {"attempts": None}),
        (0, {"events": 3}),
        (1, {"time": "x"}),
        (9, {"decision": {}}),
        (1, {"time": [1]}),
        (1, {"study": ["a"]}),
        (1, {"study": {"name": "s", "costs": {"m0": 10**400}}}),
        (1, {"study": {"name": "s", "costs": {"m0": "1"}, "dataset": [7]}}),
        (7, {"device": [1]}),
        (-1, {"trial": "0"}),
        (-1, {"score": "0"}),
        (-1, {"score": True}),
        (-1, {"study": {}}),
        (0, {"prior": None}),
        (0, {"prior": {"layout": "shared"}}),
        (0, {"prior": 5}),
        (1, {"event": "study-adored"}),
        (1, {"study": {"name": "x"}}),
        (1, {"study": 5}),
        (1, {"surprise": 1}),
        (1, {"time": None}),
    ],
)
def test_a_broken_recording_is_refused(tmp_path: Path, line: int, change: dict[str, Any]) -> None:
    path = tmp_path / "events.jsonl"
    record(3, "mdmt", "shared", path)
    change_line(path, line, change)
    with pytest.raises(InvalidRecording, match=r"events\.jsonl"):
        read_recording(path)


def test_blank_lines_and_a_byte_order_mark_are_allowed(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    recording = record(3, "mdmt", "shared", path)
    path.write_text("\ufeff" + path.read_text() + "\n \n")
    assert read_recording(path).events == recording.events


def test_an_existing_recording_survives_a_failure(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    recording = record(3, "mdmt", "shared", path)
    before = path.read_text()
    broken = replace(recording, events=(*recording.events, ArmObserved(0.0, 0, math.nan)))
    with pytest.raises(InvalidRecording, match="cannot be written"):
        write_recording(path, broken)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("text", ["", "[]", "{", "\0", "[" * 100_000, '{"format": 1}\nnull'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidRecording, match=r"events\.jsonl"):
        read_recording(path)
    with pytest.raises(InvalidRecording, match="cannot be read"):
        read_recording(tmp_path / "none")
