"""Datasets on the command line: downloads, exports, logs and default targets."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from support.canned import STUDY
from support.commands import Bentham, assert_refused

from bentham.cli.files import write_verified
from bentham.cli.remote.formatting import plain_log
from bentham.cli.remote.study_create import _data
from bentham.errors import BenthamError, InvalidInput
from bentham.training.sources import Fetched
from bentham.wire import DatasetView


def test_a_download_is_complete_or_absent(tmp_path: Path) -> None:
    path, content = tmp_path / "data.csv", b"a,b\n1,2\n"
    digest = hashlib.sha256(content).hexdigest()
    path.write_bytes(b"before")

    def interrupted() -> Any:
        yield content[:4]
        raise BenthamError("the server went away")

    for pieces in ([content[:-1]], interrupted()):
        with pytest.raises(BenthamError, match=r"SHA-256|went away"):
            write_verified(path, pieces, digest)
        assert path.read_bytes() == b"before"
    write_verified(path, [content[:3], content[3:]], digest)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.usefixtures("canned")
def test_a_misspelt_type_gets_a_suggestion(bentham: Bentham) -> None:
    command = ("study", "create", "x", "--data", "a.csv", "--type")
    for text, words in (
        ("zip=categry", "or 'ignored'; did you mean 'category'?"),
        ("zip=Yes No", "did you mean 'yes-no'?"),
        ("zip", "write COLUMN=TYPE"),
    ):
        assert_refused(bentham, *command, text, contains=[f"--type is {text!r}; ", words])


@pytest.mark.usefixtures("canned")
def test_a_file_is_overwritten_only_with_force(bentham: Bentham, tmp_path: Path) -> None:
    path = tmp_path / "best.py"
    path.write_text("before")
    arguments = ("study", "export", STUDY["id"], "--out", path)
    assert_refused(bentham, *arguments, contains=["best.py exists; name another file", "--force"])
    assert path.read_text() == "before"
    assert bentham(*arguments, "--force").code == 0
    assert path.read_text() == "print('trained')\n"


def test_logs_keep_tabs_and_their_lines() -> None:
    assert plain_log("a\tb\r\nc 1%\rc 2%\r\n\x1b[31md") == "a\tb\nc 1%\nc 2%\n\ufffd[31md"


class Uploads:
    """A client that can only upload."""

    def add_dataset(self, name: str, *_: object, **__: object) -> DatasetView:
        return DatasetView(
            id="d_1", tenant="lab", name=name, hash="0" * 64, format="csv", delimiter=",",
            bytes=9, rows=20, width=2, columns=[], notes=[], created=0.0,
        )  # fmt: skip


def test_default_target_of_a_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fetched = Fetched("credit-g", b"a,class\n", "csv", "class")
    monkeypatch.setattr("bentham.training.sources.fetch", lambda _: fetched)
    client: Any = Uploads()

    def target(source: str, declared: str | None) -> str:
        return _data(client, source, declared, None, {}, {}, None).target

    assert target("openml:credit-g", None) == "class"
    assert target("sklearn:iris", "a") == "a"
    (tmp_path / "data.csv").write_text("a,b\n")
    with pytest.raises(InvalidInput, match="--target"):
        target(str(tmp_path / "data.csv"), None)
