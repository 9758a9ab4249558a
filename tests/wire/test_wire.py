"""The types of the wire and of training are separate but must agree."""

from dataclasses import fields
from typing import Literal, get_args

import pytest
from pydantic import BaseModel, Field, ValidationError

from bentham.training import dataset, parameters, reports, training_plan
from bentham.wire import base, datasets, devices, training
from bentham.wire.base import complaints


@pytest.mark.parametrize(
    ("body", "domain"),
    [
        (datasets.Column, dataset.ColumnSummary),
        (training.Split, training_plan.RowSplit),
        (training.Training, training_plan.TrainingPlan),
    ],
)
def test_the_same_fields_in_the_same_order(body: type[BaseModel], domain: type[BaseModel]) -> None:
    assert list(body.model_fields) == list(domain.model_fields)
    for name, field in domain.model_fields.items():
        assert (body.model_fields[name].is_required(), body.model_fields[name].default) == (
            field.is_required(),
            field.default,
        )


def test_the_default_split_is_the_same() -> None:
    wire_split, request = training.SplitAsked(), training_plan.SplitRequest()
    assert wire_split.model_dump() == {
        each.name: getattr(request, each.name) for each in fields(request)
    }


def test_the_same_literals() -> None:
    for one, other in [
        (training.Task, training_plan.Task),
        (training.SplitKind, training_plan.SplitKind),
        (training.Setting, parameters.Setting),
        (datasets.ColumnType, dataset.ColumnType),
        (datasets.Format, dataset.Format),
    ]:
        assert get_args(one) == get_args(other)


def test_the_same_limits() -> None:
    assert datasets.MOST_COLUMNS == dataset.MOST_COLUMNS
    assert datasets.LONGEST_COLUMN == dataset.LONGEST_COLUMN
    assert base.LONGEST_TEXT == dataset.LONGEST_NOTE
    assert base.LONGEST_NAME == reports.LONGEST_NAME
    assert devices.MOST_METRICS == reports.MOST_METRICS


def test_complaints_are_in_words() -> None:
    class Body(BaseModel):
        kind: Literal["folds", "holdout"]
        name: str = Field(min_length=1)

    with pytest.raises(ValidationError) as refused:
        Body.model_validate({"kind": "fold", "name": ""})
    assert complaints(refused.value.errors()) == [
        "kind: choose 'folds' or 'holdout'; did you mean 'folds'?", "name: is empty; give a name"
    ]  # fmt: skip
