"""The live part of a block: which of its arms are tried, what they scored, whom they would help.

name        shape        meaning
status      (arms,)      untried, running, observed or failed
cost        (arms,)      c(x), as given or as predicted; NaN where no study ever listed the arm;
                         computed when looked at, from what was believed at the last `expect`
said        (arms,)      what a study said the arm costs, else NaN
score       (arms,)      z(x) where observed, else NaN
listers     (arms,)      how many studies list the arm
candidate   (arms,)      listed by a study and untried: what may be picked
first_study (arms,)      the lowest study that lists the arm, where one does
pairs       (pairs,)     every (study, arm) pair of the block, study after study
"""

from enum import IntEnum

import numpy as np

from bentham.core.expected_costs import Question, expected_costs
from bentham.core.outlook import Outlook
from bentham.core.posterior import Posterior
from bentham.core.prior import BlockPrior
from bentham.core.study_state import Listing, Pairs, StudyState
from bentham.core.validation import Integers, Vector


class Status(IntEnum):
    """Where an arm stands."""

    UNTRIED = 0
    RUNNING = 1
    OBSERVED = 2
    FAILED = 3


# Of a block, made again when asked for, to the same bit: a snapshot does without.
_MADE_AGAIN = frozenset({"_gains", "_outlook", "_pairs", "_posterior", "_totals"})


class Block:
    """Correlated arms, their posterior, and the studies that list them."""

    __slots__ = (
        "_cost",
        "_gains",
        "_listings",
        "_outlook",
        "_pairs",
        "_posterior",
        "_running",
        "_sole",
        "_totals",
        "candidate",
        "changes",
        "first_study",
        "listers",
        "observed",
        "order",
        "prior",
        "said",
        "score",
        "status",
        "studies",
        "tenant",
    )

    def __init__(self, order: int, prior: BlockPrior, tenant: str = ""):
        self.order = order
        self.tenant = tenant  # whose studies may list its arms
        self.prior = prior
        self.changes = 0  # how often something else was believed of its scores
        self.studies: list[StudyState] = []
        self.status = np.zeros(prior.size, dtype=np.int8)
        self._cost: Vector = np.full(prior.size, np.nan)
        self._listings: list[Listing] | None = None
        self.said: Vector = np.full(prior.size, np.nan)
        self.score: Vector = np.full(prior.size, np.nan)
        self.listers: Integers = np.zeros(prior.size, dtype=np.int64)
        self.candidate = np.zeros(prior.size, dtype=bool)
        self.first_study: Integers = np.zeros(prior.size, dtype=np.int64)
        self.observed: list[int] = []
        self._running: set[int] = set()
        self._posterior: Posterior | None = None
        self._outlook: Outlook | None = None
        self._pairs: Pairs | None = None
        self._sole: StudyState | None = None
        self._totals: Vector | None = None
        self._gains: Vector = np.zeros(0)

    def __getstate__(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__ if name not in _MADE_AGAIN)

    def __setstate__(self, kept: tuple[object, ...]) -> None:
        names = (name for name in self.__slots__ if name not in _MADE_AGAIN)
        for name, value in zip(names, kept, strict=True):
            setattr(self, name, value)
        self._posterior = self._outlook = self._pairs = self._totals = None
        self._gains = np.zeros(0)

    @property
    def cost(self) -> Vector:
        """What each arm costs."""
        awaited = self.awaited_costs()
        if awaited:
            questions = [question for _, question in awaited]
            for (listing, _), costs in zip(awaited, expected_costs(questions), strict=True):
                self.settle_costs(listing, costs)
        return self._cost

    def awaited_costs(self) -> list[tuple[Listing, Question]]:
        """What must be computed before costs can be looked at."""
        return [
            (listing, Question(listing.belief, listing.cost_columns, self.said[listing.columns]))
            for listing in self._listings or ()
            if listing.belief is not None
        ]

    def settle_costs(self, listing: Listing, costs: Vector) -> None:
        """Take in what was computed."""
        self._cost[listing.columns] = costs
        listing.belief = None

    @property
    def listings(self) -> list[Listing]:
        """What is listed, dataset by dataset."""
        if self._listings is None:
            listed: dict[str, list[Integers]] = {}
            for study in self.studies:
                listed.setdefault(study.dataset, []).append(study.columns)
            self._listings = []
            for dataset, several in listed.items():
                columns = several[0] if len(several) == 1 else np.unique(np.concatenate(several))
                unsaid = bool(np.isnan(self.said[columns]).any())
                self._listings.append(Listing(dataset, columns, unsaid))
        return self._listings

    @property
    def posterior(self) -> Posterior:
        """The posterior, conditioned again in the old order if the block had been at rest."""
        if self._posterior is None:
            self._posterior = Posterior(self.prior)
            for column in self.observed:
                self._posterior.observe(column, self._warped(column))
        return self._posterior

    @property
    def outlook(self) -> Outlook:
        """What the posterior says of scores."""
        if self._outlook is None:
            self._outlook = Outlook.of(self.posterior, self.prior)
        return self._outlook

    @property
    def conditioned(self) -> bool:
        """Whether the posterior is at hand, or what it says."""
        return self._posterior is not None or self._outlook is not None

    def warped_scores(self) -> list[float]:
        """What was observed, in order, in warped units."""
        warped: list[float] = self.prior.warp(self.score[self.observed]).tolist()
        return warped

    def believe(self, posterior: Posterior | None, outlook: Outlook) -> None:
        """Take in what the prior and the observations make; the posterior may come later."""
        self._posterior, self._outlook = posterior, outlook

    def sole_unimproved(self) -> StudyState | None:
        """The one study that lists every arm, if its gains are not at hand."""
        return self._sole if self._totals is None else None

    def improve(self, gains: Vector) -> None:
        """Take in the expected improvement of every arm, for the one study that lists them all."""
        assert self._sole is not None
        self._totals = self._gains = self._sole.weight * gains

    def adopt(self, prior: BlockPrior) -> None:
        """Believe another prior, of the same arms and perhaps more; observations are kept."""
        if prior is self.prior:
            return
        more = prior.size - self.prior.size
        if more:
            self._widen((0, more))
        self.prior = prior
        self.changes += 1
        self._posterior = self._outlook = self._totals = None
        if more:
            self._note_sole()

    def _widen(self, more: tuple[int, int]) -> None:
        self.status, self.candidate = np.pad(self.status, more), np.pad(self.candidate, more)
        self.listers = np.pad(self.listers, more)
        self.first_study = np.pad(self.first_study, more)
        for name in ("_cost", "said", "score"):
            longer = np.pad(getattr(self, name), more, constant_values=np.nan)
            setattr(self, name, longer)

    def add(self, study: StudyState) -> None:
        """Begin to serve a study, the youngest; what is observed already counts for it."""
        columns, cost = study.columns, self.cost  # what was expected until now
        self.studies.append(study)
        unsaid = np.isnan(study.given_costs)
        before = np.where(self.listers[columns] > 0, self.said[columns], np.nan)
        self.said[columns] = np.where(unsaid, before, study.given_costs)
        cost[columns] = self.said[columns]
        self.first_study[columns[self.listers[columns] == 0]] = study.order
        self.listers[columns] += 1
        self.candidate[columns] = self.status[columns] == Status.UNTRIED
        study.open_arms = int(self.candidate[columns].sum())
        for column in self.observed:
            if column in columns:
                study.credit(column, float(self.score[column]))
        self._note_studies()

    def remove(self, study: StudyState) -> None:
        """Stop serving a study."""
        _ = self.cost  # what was expected until now: the others keep it
        self.studies.remove(study)
        study.served, study.open_arms = False, 0
        self.listers[study.columns] -= 1
        self.candidate &= self.listers > 0
        for other in reversed(self.studies):
            self.first_study[other.columns] = other.order
        self._note_studies()
        self.rest()

    def weigh(self, study: StudyState, weight: float) -> None:
        """Let a study count for more or less."""
        study.weight = weight
        self._totals = None

    def rest(self) -> None:
        """With nothing left to decide, let go of the posterior; it can be made again."""
        if not self.has_candidates():
            self._posterior = self._outlook = None

    def has_candidates(self) -> bool:
        """Whether there is anything left to pick."""
        return any(study.open_arms for study in self.studies)

    def studies_listing(self, column: int) -> list[StudyState]:
        """The studies that list an arm, lowest first."""
        if self._sole:
            return self.studies
        if not self.studies:
            return []
        pairs = self._all_pairs()
        return [self.studies[owner] for owner in pairs.owner[pairs.column == column]]

    def observe(self, column: int, score: float) -> None:
        """An arm's score is known: condition the posterior, credit the studies that list it."""
        self.status[column] = Status.OBSERVED
        self.changes += 1
        self._running.discard(column)
        self.score[column] = score
        if self._posterior is not None:
            if self._posterior.shared:
                self._posterior = self._posterior.copy()
            self._posterior.observe(column, self._warped(column))
        self._outlook = None
        self.observed.append(column)
        for study in self.studies_listing(column):
            study.credit(column, score)
        self._totals = None

    def start(self, column: int, listing: list[StudyState]) -> None:
        """A candidate is run from now on; `listing` are the studies that list it."""
        self.status[column] = Status.RUNNING
        self._running.add(column)
        self.candidate[column] = False
        for study in listing:
            study.open_arms -= 1
        self.rest()

    def restore(self, column: int, listing: list[StudyState]) -> None:
        """A running arm may be picked again, if anybody still wants it."""
        self.status[column] = Status.UNTRIED
        self._running.discard(column)
        self.candidate[column] = bool(listing)
        for study in listing:
            study.open_arms += 1

    def fail(self, column: int) -> None:
        """A running arm will not be tried again."""
        self.status[column] = Status.FAILED
        self.changes += 1
        self._running.discard(column)

    def running(self) -> list[int]:
        """The columns that are running, ascending."""
        return sorted(self._running)

    def gains(self, column: int) -> list[tuple[StudyState, float]]:
        """Each listing study's weighted expected improvement from the arm: Eq. (3)."""
        self._refresh()
        if self._sole:
            return [(self._sole, float(self._gains[column]))]
        pairs = self._all_pairs()
        places = np.flatnonzero(pairs.column == column)
        return [(self.studies[pairs.owner[place]], float(self._gains[place])) for place in places]

    def study_gains(self, study: StudyState) -> Vector:
        """One study's weighted expected improvement from each of its columns: Eq. (3)."""
        self._refresh()
        start = 0 if self._sole else self._all_pairs().start[study.order]
        return self._gains[start : start + len(study.columns)]

    def totals(self) -> Vector:
        """Each arm's expected improvement summed over the studies that list it: Eq. (4)."""
        self._refresh()
        assert self._totals is not None
        return self._totals

    def _refresh(self) -> None:
        # Alg. 1 line 7, for the arms of this block only: nothing else has changed.
        if self._totals is not None:
            return
        outlook = self.outlook
        if self._sole:
            self.improve(outlook.improvement(self._sole.incumbent))
            return
        column, owner, _ = self._all_pairs()
        incumbent = np.array([study.incumbent for study in self.studies])[owner]
        weight = np.array([study.weight for study in self.studies])[owner]
        self._gains = weight * outlook.improvement(incumbent, column)
        totals = np.bincount(column, self._gains, minlength=self.prior.size)
        self._totals = totals.astype(np.float64)

    def _warped(self, column: int) -> float:
        return float(self.prior.warp(self.score[column]))

    def _note_studies(self) -> None:
        self._listings = self._pairs = self._totals = None
        self._note_sole()

    def _note_sole(self) -> None:
        # The usual case, worth a short cut: one study, which lists every arm, in column order.
        sole = len(self.studies) == 1 and len(self.studies[0].columns) == self.prior.size
        self._sole = self.studies[0] if sole and self.prior.in_model_order else None

    def _all_pairs(self) -> Pairs:
        # Made when first needed: studies are mostly added many at a time.
        if self._pairs is None:
            self._pairs = Pairs.of(self.studies)
        return self._pairs
