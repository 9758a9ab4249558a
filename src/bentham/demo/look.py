"""The state of the run at one time, read from the API."""

from dataclasses import dataclass
from functools import cached_property

from bentham.client import Client
from bentham.wire import Overview, StudyView, TrialView


@dataclass(frozen=True)
class RunProgress:
    """The studies, their trials and the pool at one time."""

    studies: list[StudyView]
    trials: list[TrialView]
    overview: Overview
    devices: list[str]  # the names of those that are present

    @property
    def seconds(self) -> float:
        """Seconds since the first study was created."""
        began = min((study.created for study in self.studies), default=self.overview.time)
        return max(0.0, self.overview.time - began)

    @property
    def models(self) -> int:
        """The number of models to train, over all studies."""
        return sum(study.models for study in self.studies)

    @cached_property
    def ended(self) -> dict[str, list[TrialView]]:
        """The trials of each study that returned a score, in the order in which they ended."""
        found: dict[str, list[TrialView]] = {study.id: [] for study in self.studies}
        for trial in sorted(self.trials, key=lambda trial: trial.ended or 0.0):
            if trial.state == "complete" and trial.study in found:
                found[trial.study].append(trial)
        return found

    @property
    def running(self) -> list[TrialView]:
        """The running trials, sorted by device."""
        found = [trial for trial in self.trials if trial.state == "running"]
        return sorted(found, key=lambda trial: trial.device)

    @property
    def tried(self) -> int:
        """The number of models that are neither untried nor running."""
        return sum(study.tried for study in self.studies)

    @property
    def done(self) -> bool:
        """Whether nothing is left to run."""
        return all(study.untried == 0 == study.trials.running for study in self.studies)


def query_progress(client: Client) -> RunProgress:
    """Query the server for the current state of the run."""
    studies = sorted(client.studies(), key=lambda study: study.created)
    trials, overview = list(client.trials()), client.overview()
    present = [device.name for device in client.devices() if device.presence == "present"]
    return RunProgress(studies, trials, overview, present)
