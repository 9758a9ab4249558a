"""The errors that Bentham raises."""

from bentham import errors


def test_every_error_is_exported() -> None:
    kinds = [
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and kind.__module__ == "bentham.errors"
    ]
    assert sorted(kinds) == errors.__all__


def test_every_error_is_in_the_tree() -> None:
    assert errors.__doc__ is not None
    for name in errors.__all__:
        assert f"{name} " in errors.__doc__ or f"{name}\n" in errors.__doc__, name
