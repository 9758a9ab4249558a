"""Paths of the repository, and the PYTHONPATH for other processes."""

import os
from pathlib import Path

import bentham

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
SOURCE = Path(bentham.__file__).parent.parent
PYTHONPATH = os.pathsep.join([str(SOURCE), str(TESTS)])
