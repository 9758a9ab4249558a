"""Invalid tables cause a one-line error with file, row and remedy; valid ones are read exactly."""

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest

from bentham.core.gaussian.validation import Matrix, Vector
from bentham.errors import InvalidInput, InvalidTable
from bentham.tables import (
    complete_history,
    draw_synthetic,
    history_scores,
    load_table,
    read_features,
    read_table,
)

GOOD = "study,model,score,cost\na,x,0.5,1\na,y,0.6,2\nb,y,0.7,3\n"


def write_file(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_good_table(tmp_path: Path) -> None:
    table = read_table(write_file(tmp_path, GOOD))
    assert (table.studies, table.models) == (("a", "b"), ("x", "y"))
    assert table.scores.tolist()[0] == [0.5, 0.6]
    assert np.isnan(table.scores[1, 0])
    assert table.costs[1, 1] == 3.0
    specs = table.specs(floor=0.1)
    assert specs[1].costs == {"y": 3.0}
    assert specs[0].floor == 0.1
    assert table.truth()["b", "y"] == 0.7  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD + "\n\n  \n",
        GOOD.replace("a,x", ' "a" ,x').replace(' "a" ', '"a"'),
        "cost,note,score,model,study\n1,hm,0.5,x,a\n2,,0.6,y,a\n3,,0.7,y,b\n",
        GOOD.replace("study,", " study ,"),
    ],
    ids=["byte-order mark", "windows", "blank lines", "quotes", "other order", "spaces"],
)
def test_other_forms_of_the_same_table(tmp_path: Path, text: str) -> None:
    table = read_table(write_file(tmp_path, text))
    assert table.studies == ("a", "b")
    assert table.costs[0].tolist() == [1.0, 2.0]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode()))
    assert read_table(path).studies == ("a", "b")
    corrupt = bytearray(gzip.compress(GOOD.encode()))
    corrupt[20] ^= 0xFF
    path.write_bytes(bytes(corrupt))
    with pytest.raises(InvalidTable, match="cannot be read"):
        read_table(path)
    path.write_bytes(gzip.compress(GOOD.encode())[:-9])
    with pytest.raises(InvalidTable, match="cannot be read"):
        read_table(path)


HEADER = "study,model,score,cost\n"
BAD = {
    "missing column": ("study,model,score\na,x,1\n", 1, "column 'cost' is missing"),
    "doubled column": ("study,model,score,cost,cost\na,x,1,1,1\n", 1, "is listed twice"),
    "text for a score": (HEADER + "a,x,good,1\n", 2, "score is 'good', not a number; write a"),
    "text for a cost": (HEADER + "a,x,1,1\na,y,1,2h\n", 3, "cost is '2h', not a number"),
    "empty score": (HEADER + "a,x,,1\n", 2, "score is '', not a number"),
    "NaN": (HEADER + "a,x,NaN,1\n", 2, "score is NaN; write a finite number"),
    "infinite score": (HEADER + "a,x,-inf,1\n", 2, "score is -inf; write a finite number"),
    "overflow": (HEADER + "a,x,1,1e999\n", 2, "cost is 1e999; write a finite number"),
    "infinite cost": (HEADER + "a,x,1,inf\n", 2, "cost is inf; write a finite number"),
    "huge": (HEADER + "a,x,1e200,1\n", 2, "score is 1e200; write"),
    "negative cost": (HEADER + "a,x,1,-2\n", 2, "cost is -2; write a number above zero"),
    "zero cost": (HEADER + "a,x,1,1\nb,x,1,0\n", 3, "cost is 0; write a number above zero"),
    "no model": (HEADER + "a,x,1,1\nb,,,\n", 3, "study 'b' has no model in this row; name one"),
    "no study": (HEADER + ",x,1,1\n", 2, "the study has no name; name it"),
    "doubled row": (HEADER + "a,x,1,1\nb,x,1,1\na,x,2,2\n", 4, "are already in row 2; delete"),
    "empty file": ("", 1, "the header is missing; start the file with study,model,score,cost"),
    "only a header": (HEADER, 2, "no data below the header; add rows"),
    "short row": (HEADER + "a,x,1\n", 2, "3 fields, but the header has 4"),
    "comma for a point": (HEADER + "a,x,0,5,1\n", 2, "5 fields, but the header has 4"),
    "underscore": (HEADER + "a,x,1_0,1\n", 2, "score is '1_0', not a number"),
    "other digits": (HEADER + "a,x,\u0663,1\n", 2, "not a number"),
    "semicolons": (HEADER.replace(",", ";") + "a;x;1;1\n", 1, "separated by commas"),
    "blank first line": ("\n" + HEADER + "a,x,1,1\n", 1, "header is missing; start the file with"),
    "tiny cost": (HEADER + "a,x,1,1e-300\n", 2, "above zero (at least 1e-50)"),
    "long name": (HEADER + 2 * ("n" * 5000 + ",x,1,1\n"), 3, "nnn...' and model 'x' are already"),
    "open quote": (HEADER + 'a,"x,1,1\n', 2, "not a CSV row"),
    "huge field": (HEADER + "a," + "x" * 200_000 + ",1,1\n", 2, "not a CSV row"),
}


def test_the_field_limit_is_independent_of_the_csv_module(tmp_path: Path) -> None:
    """The csv module has one limit per process, and reading datasets changes it."""
    before = csv.field_size_limit(10**6)
    try:
        test_bad_tables(tmp_path, *BAD["huge field"])
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize(("text", "row", "words"), BAD.values(), ids=BAD)
def test_bad_tables(tmp_path: Path, text: str, row: int, words: str) -> None:
    path = write_file(tmp_path, text)
    with pytest.raises(InvalidTable) as caught:
        read_table(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, row {row}: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < 300 + len(str(path))


def test_other_files(tmp_path: Path) -> None:
    with pytest.raises(InvalidTable, match="no such file; check"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InvalidTable, match="this is a directory"):
        read_table(tmp_path)
    with pytest.raises(InvalidTable, match="row 2: not UTF-8 text; save it"):
        read_table(write_file(tmp_path, b"study,model,score,cost\n\xff\xfe,x,1,1\n"))
    with pytest.raises(InvalidTable, match="row"):
        read_table(write_file(tmp_path, bytes(range(128)) * 10))


def test_a_history_that_lacks_a_model(tmp_path: Path) -> None:
    history = read_table(write_file(tmp_path, GOOD))
    with pytest.raises(InvalidTable, match=r"csv, row 4: study 'b' .* model 'x'; add that row"):
        complete_history(history, ["x", "y"])
    assert np.isnan(history_scores(history, ["x"])).tolist() == [[False], [True]]
    with pytest.raises(InvalidTable, match=r"csv, row 2: study 'a' .* model 'z'; add that row"):
        complete_history(history, ["y", "z"])
    assert complete_history(history, ["y"]).tolist() == [[0.6], [0.7]]


def test_features(tmp_path: Path) -> None:
    path = write_file(tmp_path, "model,depth,rate\ny,3,0.1\nx,1,0.5\n")
    features = read_features(path, ["x", "y"])
    assert features.values.tolist() == [[1.0, 0.5], [3.0, 0.1]]
    assert features.groups == (0, 1)
    family = write_file(tmp_path, "model,family,depth\nx,tree,1\ny,line,2\nz,tree,3\n")
    features = read_features(family, ["x", "y", "z"])
    assert features.values.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
    assert features.groups == (0, 1, 1)
    only = read_features(write_file(tmp_path, "model,family\nx,tree\n"), ["x"])
    assert (only.values.tolist(), only.groups) == ([[1.0]], (0,))
    with pytest.raises(InvalidTable, match="model 'z' is missing; add a row"):
        read_features(path, ["z"])
    with pytest.raises(InvalidTable, match="row 3: the depth is 'deep', not a number"):
        read_features(write_file(tmp_path, "model,depth\nx,1\ny,deep\n"), ["x"])
    with pytest.raises(InvalidTable, match="there is no feature column"):
        read_features(write_file(tmp_path, "model\nx\n"), ["x"])
    with pytest.raises(InvalidTable, match="row 3: model 'x' is listed twice"):
        read_features(write_file(tmp_path, "model,depth\nx,1\nx,2\n"), ["x"])


def test_the_bundled_synthetic_table_has_seed_zero() -> None:
    bundled, drawn = load_table("synthetic"), draw_synthetic(0)
    assert bundled.studies == drawn.studies
    assert bundled.models == drawn.models
    assert bundled.scores == pytest.approx(drawn.scores, abs=2e-6)
    assert bundled.costs == pytest.approx(drawn.costs, abs=2e-6)
    assert bundled.scores.shape == (50, 50)
    assert np.all(bundled.scores.min(axis=1) == 0.0)
    assert 1.0 <= bundled.costs.min() < bundled.costs.max() <= 16.0
    assert bundled.features is not None
    other = load_table("synthetic:3")
    assert not np.allclose(other.scores, bundled.scores)


@pytest.mark.parametrize("seed", range(3))
def test_samples_do_not_depend_on_signs_of_eigenvectors(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, decompose = draw_synthetic(3), np.linalg.eigh
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], 50)

    def with_other_signs(matrix: Matrix) -> tuple[Vector, Matrix]:
        values, vectors = decompose(matrix)
        return values, vectors * signs

    monkeypatch.setattr(np.linalg, "eigh", with_other_signs)
    assert np.array_equal(draw_synthetic(3).scores, drawn.scores)


def test_the_synthetic_scores_have_the_stated_covariance() -> None:
    from bentham.core.gaussian.kernels import correlation

    draws = np.concatenate([draw_synthetic(seed).scores for seed in range(1, 41)])
    centred = draws - draws.mean(axis=1, keepdims=True)
    features = draw_synthetic(1).features
    assert features is not None
    middle = np.eye(50) - 1 / 50  # the effect of removing a study's mean on the covariance
    expected = middle @ correlation("matern52", features, 0.2) @ middle
    assert np.cov(centred.T) == pytest.approx(expected, abs=0.12)


def test_the_bundled_real_table() -> None:
    table = load_table("oboe")
    assert table.scores.shape == (418, 219)
    assert np.all(np.isfinite(table.scores))
    assert 0.0 <= table.scores.min() <= table.scores.max() <= 1.0
    assert table.costs.min() == pytest.approx(0.0035, abs=1e-4)
    assert table.costs.max() == pytest.approx(5893, abs=1)
    assert len({model.split()[0] for model in table.models}) == 12
    small = load_table("oboe:8")
    assert small.name == "oboe:8"
    assert len(small.models) == 8
    assert len({model.split()[0] for model in small.models}) == 7
    index = table.models.index(small.models[3])
    assert np.array_equal(small.scores[:, 3], table.scores[:, index])


@pytest.mark.parametrize("name", ["oboe:0", "oboe:220", "oboe:x", "oboe:-1", "synthetic:", "obo"])
def test_no_such_table(name: str) -> None:
    with pytest.raises(InvalidInput):
        load_table(name)


def test_split_samples_complete_studies_by_seed() -> None:
    table = load_table("oboe:8").only(range(30))
    table.scores[3, 2] = table.costs[3, 2] = np.nan
    sampled = set()
    for seed in range(50):
        history, served = table.split(8, seed)
        assert len(history.studies) == 8
        assert set(history.studies) | set(served.studies) == set(table.studies)
        assert not set(history.studies) & set(served.studies)
        for part in (history, served):  # in the order of the table
            assert list(part.studies) == [s for s in table.studies if s in part.studies]
        assert table.studies[3] not in history.studies
        sampled |= set(history.studies)
    assert sampled == set(table.studies) - {table.studies[3]}
    assert table.split(8, 1)[0].studies != table.split(8, 2)[0].studies
    with pytest.raises(InvalidInput, match="only 29 list every model"):
        table.only([*range(30), 3]).split(30, 0)
    with pytest.raises(InvalidInput, match="none would be left"):
        table.split(30, 0)


def test_sizes_of_datasets(tmp_path: Path) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text(
        "study,model,score,cost,rows,columns\na,x,1,1,150,4\na,y,1,1,,\nb,x,1,1,,\nb,y,1,1,9,9\n"
    )
    table = read_table(path)
    assert table.sizes == ((150, 4), (0, 0))
    first, second = table.only([0, 1]).specs()
    assert (first.rows, first.columns, second.rows, second.columns) == (150, 4, None, None)
    for bad in ("0", "1.5", "-3", "many", "1e99"):
        path.write_text(f"study,model,score,cost,rows\na,x,1,1,{bad}\n")
        with pytest.raises(InvalidTable, match=r"row 2: the rows"):
            read_table(path)


def test_the_synthetic_table_has_sizes() -> None:
    table = load_table("synthetic")
    rows = np.array([size[0] for size in table.sizes])
    ratio = table.costs[:, 0] / rows  # cost is size times complexity
    assert ratio == pytest.approx(np.full(50, ratio[0]), rel=2e-3)
    assert load_table("synthetic:3").sizes
    assert not load_table("oboe:4").sizes
