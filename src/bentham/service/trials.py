"""How trials change what is known: they begin, and end in one of five ways."""

from bentham.core import events as core
from bentham.service import events as happened
from bentham.service.entities import Trial
from bentham.service.state import State


class TrialFold(State):
    """The part of the fold that is about trials."""

    def _trial_leased(self, time: float, event: happened.TrialLeased) -> None:
        decision = event.decision
        self.scheduler.apply(core.TrialStarted(time, decision))
        study, device = self.studies[decision.study], self.devices[str(decision.device)]
        trial = Trial(
            event.id, decision.trial, study, decision.model, device.name, device.token,
            device.kind, event.attempt, decision.cost, time, self.sequence + 1,
        )  # fmt: skip
        study.shared.move(decision.model, "running").trial = trial.id
        self.trials[trial.id] = self.running[trial.id] = study.tenant.running[trial.id] = trial
        study.trials.append(trial)
        study.tenant.trials.append(trial)
        self.trials_of.setdefault(device.token, []).append(trial)
        device.trial = trial
        study.counts["running"] += 1
        self._serve(time, study)

    def _trial_completed(self, time: float, event: happened.TrialCompleted) -> None:
        trial = self.trials[event.id]
        self.scheduler.apply(core.TrialCompleted(time, trial.number, event.score))
        self._end(time, trial, "complete", "observed")
        trial.score = event.score
        trial.metrics, trial.scores = tuple(event.metrics.items()), tuple(event.scores)
        shared = trial.study.shared
        shared.tried[trial.model].score = event.score
        for study in shared.studies:
            if study.state != "closed" or study is trial.study:
                study.credit(trial.model, event.score, time)

    def _trial_failed(self, time: float, event: happened.TrialFailed) -> None:
        trial = self.trials[event.id]
        if event.final:
            self.scheduler.apply(core.TrialFailed(time, trial.number, event.reason))
            self._end(time, trial, "failed", "failed")
        else:
            self._return(time, trial, "failed")
        trial.reason = event.reason

    def _trial_lost(self, time: float, event: happened.TrialLost) -> None:
        trial = self.trials[event.id]
        self._return(time, trial, "lost")
        trial.reason = event.reason
        trial.study.tenant.leases_lost += 1
        self.leases_lost += 1

    def _trial_released(self, time: float, event: happened.TrialReleased) -> None:
        trial = self.trials[event.id]
        self.scheduler.apply(core.TrialReleased(time, trial.number))
        trial.reason, trial.released = event.reason or "released by its device", True
        if event.unable:
            trial.study.shared.tried[trial.model].unable[trial.device] = None
        self._end(time, trial, "lost", "untried")

    def _return(self, time: float, trial: Trial, state: str) -> None:
        """A trial brought nothing; its arm may be tried again, up to the attempts set."""
        self.scheduler.apply(core.TrialLost(time, trial.number))
        tried = trial.study.shared.tried[trial.model]
        tried.losses += 1
        self._end(time, trial, state, "failed" if tried.losses >= self._attempts else "untried")

    def _end(self, time: float, trial: Trial, state: str, arm: str) -> None:
        study, tenant = trial.study, trial.study.tenant
        trial.state, trial.ended = state, time
        study.shared.move(trial.model, arm)
        del self.running[trial.id], tenant.running[trial.id]
        seconds = max(0.0, time - trial.started)
        tenant.charge(trial.started, trial.started + seconds)
        study.device_seconds += seconds
        device = self.devices[trial.device]
        device.trial = None
        device.busy_seconds += seconds
        study.counts["running"] -= 1
        study.counts[state] += 1
        self.throughput.note(time, tenant.name)
        self._serve(time, study)
