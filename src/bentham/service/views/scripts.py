"""A study's result as a script that its owner can keep."""

from bentham.errors import InvalidInput
from bentham.service.fold.entities import Study
from bentham.service.fold.pool import Pool
from bentham.service.refusals import Conflicting, Invalid, Missing
from bentham.service.views.entities import training_view
from bentham.training.catalog import Catalog
from bentham.training.script import script
from bentham.training.training_plan import TrainingPlan
from bentham.wording import did_you_mean


def study_script(pool: Pool, study: Study, model: str | None, catalog: Catalog) -> str:
    """Return the script that trains a study's model, by default the best so far."""
    if model is not None and model not in study.models:
        raise Missing(f"the study lists no model {model!r}{did_you_mean(model, study.models)}")
    training = training_view(study)
    if training is None or not study.drawn:
        raise Conflicting(
            "the study does not train on a dataset of the server, so there is no script; the field "
            "`incumbent` names its best model"
        )
    if model is None and study.best is None:
        raise Conflicting("no model of the study has a score yet; try again when one has")
    name = model or (study.best[0] if study.best else "")
    description = pool.descriptions[name]
    algorithm = catalog.algorithms.get(description.algorithm)
    if algorithm is None:
        raise Conflicting(
            f"the algorithm {description.algorithm!r} is no longer installed; ask the operator for "
            "it"
        )
    tried = study.shared.tried.get(name)
    try:
        return script(
            TrainingPlan(**training),
            name,
            algorithm,
            description.configuration,
            score=None if tried is None else tried.score,
            study=study.name,
        )
    except InvalidInput as error:
        raise Invalid(str(error)) from None
