"""A test that hangs fails and is named."""

import time

import pytest
from support.time_limit import limited


def test_a_test_that_hangs_is_named() -> None:
    with (
        pytest.raises(pytest.fail.Exception, match=r"test_x\.py::y did not end within 0\.05 s"),
        limited("test_x.py::y", 0.05),
    ):
        time.sleep(30.0)
