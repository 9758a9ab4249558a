"""Training plans from columns and requests, and refusals with a remedy."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from bentham.errors import InvalidInput
from bentham.training.dataset import ColumnSummary, DataFile
from bentham.training.plan import MOST_NOTES, plan
from bentham.training.training_plan import PlanRequest, SplitRequest, TrainingPlan


def number(name: str, **other: Any) -> ColumnSummary:
    fields = {"missing": 0, "distinct": 90, "rarest": 1, "singles": 80, "numeric": True}
    return ColumnSummary(name=name, **{"type": "number", **fields, **other})


def category(name: str, **other: Any) -> ColumnSummary:
    fields = {"missing": 0, "distinct": 3, "rarest": 30, "singles": 0}
    return ColumnSummary(name=name, **{"type": "category", **fields, **other})


def dataset(*columns: ColumnSummary, rows: int = 100) -> DataFile:
    return DataFile("d_1", "flowers", "abc", "csv", ",", 9, rows, columns)


def ask(target: str = "y", **other: Any) -> PlanRequest:
    return PlanRequest(target, **other)


def planned(target: ColumnSummary, rows: int = 100, **other: Any) -> TrainingPlan:
    return plan(dataset(number("size"), target, rows=rows), ask(target.name, **other))


def test_a_plain_plan() -> None:
    flowers = dataset(number("size"), category("colour"), category("y"))
    assert plan(flowers, ask()).model_dump() == {
        "dataset": "d_1", "name": "flowers", "hash": "abc", "format": "csv", "delimiter": ",",
        "bytes": 9, "target": "y", "task": "classification", "metric": "accuracy", "classes": 3,
        "columns": {"size": "number", "colour": "category"},
        "split": {"kind": "folds", "folds": 5, "share": 0.25, "seed": 0},
        "reads": "category", "positive": None, "baseline": 0.0,
        "notes": ["classification, since 'y' holds categories"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("target", "options", "task"),
    [
        (category("y"), {}, "classification"),
        (number("y"), {}, "regression"),
        (number("y", whole=True), {}, "regression"),
        (number("y", whole=True, distinct=20, rarest=2, singles=0), {}, "classification"),
        (number("y", whole=True, distinct=21, rarest=2, singles=0), {}, "regression"),
        (number("y", whole=True, distinct=3, singles=0, rarest=9), {"task": "regression"},
         "regression"),
        (number("y", whole=True, distinct=3, singles=0, rarest=9), {"types": {"y": "number"}},
         "regression"),
        (number("y", distinct=3, singles=0, rarest=9), {"task": "classification"},
         "classification"),
        (number("y", distinct=3, singles=0, rarest=9), {"types": {"y": "category"}},
         "classification"),
    ],
)  # fmt: skip
def test_the_task_is_inferred_and_can_be_overridden(
    target: ColumnSummary, options: dict[str, Any], task: str
) -> None:
    training = planned(target, **options)
    assert training.task == task
    assert training.classes == (target.distinct if task == "classification" else 0)
    assert training.metric == ("accuracy" if task == "classification" else "r2")
    assert any(f"{task}, since" in note for note in training.notes) == ("task" not in options)
    other = "regression" if task == "classification" else "classification"
    can_be_other = "task" not in options and target.numeric
    assert any(f"set the task to {other}" in note for note in training.notes) == can_be_other


def test_whole_numbers_of_few_rows_are_not_classes() -> None:
    few = number("y", whole=True, distinct=8, rarest=1, singles=6)
    assert planned(few, rows=10).task == "regression"


REFUSED: list[tuple[ColumnSummary, dict[str, Any], list[str]]] = [
    (category("class"), {"target": "clas"}, ["no column 'clas'", "'class'"]),
    (category("class"), {"target": "zzz"}, ["no column 'zzz'", "'size', 'class'"]),
    (category("y"), {"types": {"sise": "number"}}, ["types", "'sise'", "'size'"]),
    (category("y"), {"types": {"y": "ignored"}}, ["target", "cannot be ignored"]),
    (category("y"), {"types": {"y": "number"}}, ["does not hold numbers", "category"]),
    (category("y"), {"types": {"size": "ignored"}}, ["no column is left", "'size'"]),
    (category("y"), {"task": "regression"}, ["does not hold numbers", "classification"]),
    (category("y", distinct=1, rarest=99), {}, ["only one value", "another column"]),
    (category("y", distinct=0, rarest=0, missing=100), {}, ["missing", "another column"]),
    (category("y", type="ignored", distinct=0, note="left out: holds dates"), {}, ["dates"]),
    (category("y", distinct=101, rarest=2), {"rows": 9999}, ["101", "100", "group"]),
    (number("y", distinct=101), {"task": "classification"}, ["101", "set the task to regression"]),
    (category("y", rarest=1, singles=2), {}, ["2 of the 3 classes", "only one row", "merge"]),
    (category("y"), {"metric": "r2"}, ["r2 is for regression", "accuracy"]),
    (category("y"), {"metric": "best"}, ["'best' is unknown", "accuracy"]),
    (category("y"), {"metric": "f1"}, ["'f1' is unknown; the nearest is f1-macro: F1, mean"]),
    (category("y"), {"metric": "acuracy"}, ["did you mean 'accuracy'"]),
    (number("y"), {"metric": "MSE"}, ["the nearest is rmse"]),
    (number("y"), {"metric": "accuracy"}, ["accuracy is for classification", "rmse"]),
    (
        category("y", distinct=20, rarest=4),
        {"split": SplitRequest(kind="holdout", share=0.1)},
        ["10 of 100 rows", "needs at least 20 rows", "change the share"],
    ),
    (
        number("y", distinct=2, missing=97),
        {"split": SplitRequest(kind="holdout")},
        ["3 rows with a target are too few", "add rows"],
    ),
    (number("y", distinct=2, missing=97), {}, ["too few", "add rows"]),
]


@pytest.mark.parametrize(("column", "options", "words"), REFUSED)
def test_invalid_requests_are_refused(
    column: ColumnSummary, options: dict[str, Any], words: list[str]
) -> None:
    options = dict(options)
    rows = options.pop("rows", 100)
    request = ask(options.pop("target", column.name), **options)
    with pytest.raises(InvalidInput) as refused:
        plan(dataset(number("size"), column, rows=rows), request)
    assert [word for word in words if word not in str(refused.value)] == [], refused.value


def test_types_are_overridden() -> None:
    columns = [
        number("size"),
        number("code", type="ignored", note="left out: it numbers the rows"),
        category("name", type="ignored", note="left out: many"),
        category("colour"),
        category("y"),
    ]
    types = {"size": "category", "code": "number", "name": "category", "colour": "ignored"}
    training = plan(dataset(*columns), ask(types=types))
    assert training.columns == {"size": "category", "code": "number", "name": "category"}
    assert list(training.columns) == ["size", "code", "name"]  # in the order of the file
    assert len(training.notes) == 1
    inferred = plan(dataset(*columns), ask())
    assert inferred.columns == {"size": "number", "colour": "category"}
    assert (
        inferred.notes[-1] == "2 columns are left out: 'code', 'name'; set their types to use them"
    )
    for name, kind in (("name", "number"), ("colour", "number")):
        with pytest.raises(InvalidInput, match="does not hold numbers"):
            plan(dataset(*columns), ask(types={name: kind}))


def test_columns_without_values_cannot_be_categories() -> None:
    days = category("day", type="ignored", distinct=0, rarest=0, note="left out: holds dates")
    with pytest.raises(InvalidInput, match="ignore it"):
        plan(dataset(days, number("size"), category("y")), ask(types={"day": "category"}))


def test_notes_are_copied_and_limited() -> None:
    numbers = [number(f"n{at}", note="2 of its values are not numbers") for at in range(50)]
    training = plan(dataset(*numbers, category("y", missing=3)), ask())
    assert "3 rows without a value of 'y' are not used" in training.notes
    assert "'n0': 2 of its values are not numbers" in training.notes
    assert len(training.notes) == MOST_NOTES
    assert "more notes" in training.notes[-1]


@pytest.mark.parametrize(
    ("rows", "rarest", "options", "kind", "folds"),
    [
        (1999, 30, {}, "folds", 5),
        (2000, 30, {}, "holdout", 5),
        (100, 3, {}, "folds", 3),
        (100, 2, {"kind": "folds", "folds": 10}, "folds", 2),
        (5000, 30, {"kind": "folds", "folds": 10}, "folds", 10),
        (100, 30, {"kind": "holdout"}, "holdout", 5),
    ],
)
def test_the_split(rows: int, rarest: int, options: dict[str, Any], kind: str, folds: int) -> None:
    split = SplitRequest(seed=7, **options)
    training = planned(category("y", rarest=rarest), rows=rows, split=split)
    assert (training.split.kind, training.split.folds, training.split.seed) == (kind, folds, 7)
    notes = [note for note in training.notes if "folds instead of" in note]
    assert bool(notes) == (folds < split.folds)


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.sampled_from([None, "folds", "holdout"]),
    st.integers(2, 20),
    st.floats(0.05, 0.5),
)
def test_every_plan_can_be_split(counts: list[int], kind: Any, folds: int, share: float) -> None:
    """Splits that scikit-learn would refuse or warn about are refused or corrected first."""
    labels = [label for label, count in enumerate(counts) for _ in range(count)]
    target = category("y", distinct=len(counts), rarest=min(counts), singles=counts.count(1))
    split = SplitRequest(kind=kind, folds=folds, share=share)
    try:
        chosen = planned(target, rows=len(labels), split=split).split
    except InvalidInput:
        return
    if chosen.kind == "folds":
        parts = StratifiedKFold(chosen.folds, shuffle=True, random_state=0)
        for train, test in parts.split(labels, labels):
            assert {labels[at] for at in train} == {labels[at] for at in test} == set(labels)
    else:
        train, test = train_test_split(labels, test_size=chosen.share, stratify=labels)
        assert set(train) == set(labels)
        assert len(test) >= 2


@given(st.integers(2, 60), st.integers(2, 20))
def test_every_regression_can_be_split(rows: int, folds: int) -> None:
    try:
        chosen = planned(
            number("y"), rows=rows, split=SplitRequest(kind="folds", folds=folds)
        ).split
    except InvalidInput:
        assert rows < 4
        return
    for _, test in KFold(chosen.folds).split(range(rows)):
        assert len(test) >= 2


def classes(**counts: int) -> ColumnSummary:
    values = sorted(counts.items(), key=lambda each: -each[1])
    fewest = min(counts.values())
    return category("y", distinct=len(counts), rarest=fewest, values=values)


def test_the_classes_are_noted_and_the_baseline_is_that_of_a_constant() -> None:
    found = planned(classes(red=60, green=40))
    assert found.metric == "accuracy"
    assert found.baseline == 0.6
    assert any("2 classes: 'red' (60), 'green' (40)" in note for note in found.notes)
    assert planned(classes(red=60, green=40), metric="roc-auc").baseline == 0.5
    assert planned(classes(red=60, green=40), metric="log-loss").baseline == 0.0


@pytest.mark.parametrize(
    ("counts", "metric", "positive", "baseline"),
    [
        ({"fine": 95, "broken": 5}, "average-precision", "broken", 0.05),
        ({"no": 5, "yes": 95}, "average-precision", "yes", 0.95),
        ({"a": 45, "b": 45, "c": 4}, "balanced-accuracy", None, 1 / 3),
        ({"a": 50, "b": 30, "c": 20}, "accuracy", None, 0.5),
    ],
)
def test_a_rare_class_calls_for_another_metric(
    counts: dict[str, int], metric: str, positive: str | None, baseline: float
) -> None:
    found = planned(classes(**counts), rows=sum(counts.values()))
    assert (found.metric, found.positive) == (metric, positive)
    assert found.baseline == pytest.approx(baseline)
    assert any("one class is rare" in note for note in found.notes) == (metric != "accuracy")
    assert planned(classes(**counts), metric="accuracy").metric == "accuracy"


def test_columns_that_alone_predict_the_target_are_reported() -> None:
    found = planned(category("y", predictors=["closed on", "status"]))
    (note,) = [note for note in found.notes if note.startswith("warning")]
    assert "'closed on', 'status' alone predict 'y' almost perfectly" in note
    assert "set their types to ignored" in note


def test_a_date_is_no_target_and_its_parts_have_names_of_their_own() -> None:
    when = ColumnSummary(name="y", type="day-first", missing=0, distinct=9, rarest=1)
    with pytest.raises(InvalidInput, match="holds dates or times, which cannot be predicted"):
        planned(when)
    joined = when.model_copy(update={"name": "joined"})
    clash = plan(dataset(joined, category("y")), ask())
    assert clash.columns == {"joined": "day-first"}
    with pytest.raises(InvalidInput, match="ignore one of the two"):
        plan(dataset(joined, number("joined (year)"), category("y")), ask())


def test_spellings_of_the_target_are_merged() -> None:
    spelled = category("y", type="any-spelling", note="2 of its values are other spellings")
    found = planned(spelled)
    assert found.reads == "any-spelling"
    assert any("other spellings" in note for note in found.notes)
    with pytest.raises(InvalidInput, match="write them differently in the file"):
        planned(spelled, types={"y": "category"})


def test_classes_that_look_alike_are_noted() -> None:
    counts = {"stayed": 50, "not-left": 20, "not left": 18, "stayde": 5, "A+": 4, "A-": 3}
    target = category("y", distinct=len(counts), rarest=3, values=list(counts.items()))
    (note,) = [each for each in planned(target).notes if "look alike" in each]
    assert "'stayed' and 'stayde'; 'not-left' and 'not left' look alike" in note
    assert "A+" not in note


@pytest.mark.parametrize(
    ("target", "name", "metric"),
    [
        (category("y"), "ROC_AUC", "roc-auc"),
        (category("y"), "auc", "roc-auc"),
        (category("y"), "F1 Macro", "f1-macro"),
        (category("y"), "logloss", "log-loss"),
        (category("y"), "MCC", "matthews"),
        (number("y"), "r2_score", "r2"),
        (number("y"), "neg_mean_absolute_error", "mae"),
    ],
)
def test_other_names_of_a_metric_are_understood(
    target: ColumnSummary, name: str, metric: str
) -> None:
    assert planned(target, metric=name).metric == metric


def test_a_declared_type_decides_which_rows_of_the_target_are_used() -> None:
    answers = classes(yes=45, no=40, maybe=15)
    found = planned(answers, types={"y": "yes-no"})
    assert (found.classes, found.metric) == (2, "accuracy")
    assert found.baseline == pytest.approx(45 / 85)
    assert "2 classes: 'yes' (45), 'no' (40)" in found.notes
    assert (
        "15 rows whose value of 'y' is neither yes nor no are not used: 'maybe' (15)" in found.notes
    )
    for target, words in (
        (classes(yes=45, maybe=55), "nothing to predict"),
        (classes(red=45, green=55), "no value can be read as yes or no"),
        (classes(yes=90, no=1, maybe=9), "only one row"),
        (category("y", distinct=30, rarest=3, values=[("yes", 50), ("no", 40)]), "30 distinct"),
    ):
        with pytest.raises(InvalidInput, match=words):
            planned(target, types={"y": "yes-no"})


def test_declared_spellings_of_the_target_are_merged() -> None:
    found = planned(classes(Red=45, red=20, blue=35), types={"y": "any-spelling"})
    assert "2 classes: 'Red' (65), 'blue' (35)" in found.notes
    assert found.classes == 2


def test_texts_among_the_numbers_of_a_target_are_left_out_or_classes() -> None:
    texts = category("y", distinct=60, numeric=True, numbers=70)
    found = planned(texts, types={"y": "number"}, split=SplitRequest("folds", 40))
    assert "30 rows whose value of 'y' is not a number are not used" in found.notes
    assert found.split.folds == 35
    few = number("y", whole=True, distinct=4, rarest=10, singles=0, missing=10, unread=10,
        numbers=90, values=[("1", 40), ("2", 30), ("3", 20), ("none", 10)])  # fmt: skip
    found = planned(few, task="classification", split=SplitRequest("folds", 10))
    assert (found.classes, found.baseline) == (4, 0.4)
    assert not any("not used" in note for note in found.notes)


def test_merged_answers_are_named_yes_and_no() -> None:
    note = "'No', 'false', 'yes', '1' are read as yes (1) or no (0)"
    old = category("y", type="yes-no", distinct=2, rarest=40, note=note,
        values=[("false", 60), ("1", 40)])  # fmt: skip
    found = planned(old)
    assert "2 classes: 'no' (60), 'yes' (40)" in found.notes
    assert (found.reads, found.positive) == ("yes-no", "yes")
    with pytest.raises(InvalidInput, match="write them differently"):
        planned(old, types={"y": "category"})
    assert planned(classes(Ja=60, Nein=40), types={"y": "yes-no"}).positive is None  # as written


def test_classes_that_mean_the_same_answer_are_noted() -> None:
    (note,) = [
        each
        for each in planned(classes(ja=40, j=20, nein=20, n=10, vielleicht=10)).notes
        if "look alike" in each
    ]
    assert "'ja' and 'j'; 'nein' and 'n' look alike" in note
    assert not any("alike" in each for each in planned(classes(N=50, F=50)).notes)
