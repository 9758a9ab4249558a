"""The token file: readable by its owner only, not empty, and found at the default path."""

import os
from pathlib import Path

import pytest
from support.clients import TOKEN
from support.commands import Bentham, assert_refused
from support.servers import Canned


def test_it_must_be_readable_by_its_owner_only(
    bentham: Bentham, canned: Canned, tmp_path: Path
) -> None:
    file = tmp_path / "a.token"
    file.write_text(f"{TOKEN}\n")
    for mode in (0o640, 0o604, 0o644):
        file.chmod(mode)
        for command in (["status"], ["worker", "--table", "oboe:8"]):
            words = ["chmod 600", str(file)]
            assert_refused(bentham, *command, "--token-file", file, contains=words)
    file.chmod(0o600)
    assert bentham("status", "--token-file", file).code == 0
    assert canned.requests


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"two words", "does not hold a token"),
        (b"\xff\xfe", "does not hold a token"),
        (b"x" * 9999, "does not hold a token"),
    ],
)
def test_it_must_contain_a_token(
    bentham: Bentham, canned: Canned, tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "a.token"
    file.write_bytes(content)
    file.chmod(0o600)
    assert_refused(bentham, "status", "--token-file", file, contains=[words])
    assert not canned.requests


def test_its_default_path(
    bentham: Bentham, canned: Canned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BENTHAM_TOKEN")
    assert_refused(bentham, "status", contains=["no token", "--token-file"])
    assert_refused(bentham, "status", "--token-file", "none", contains=["no such file"])
    Path("bentham-data").mkdir()
    file = Path("bentham-data/admin.token")
    file.write_text(TOKEN)
    os.chmod(file, 0o600)
    assert bentham("status").code == 0
    assert canned.requests
