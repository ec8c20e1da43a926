"""Whatever is given to a public function, a wrong argument gets an error of lemmax or of Python's call."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import lemmax as lx

FUNCTIONS = [name for name in dir(lx) if not name.startswith("_") and inspect.isfunction(getattr(lx, name))]


@pytest.mark.parametrize("wrong", [None, "abc", np.ones(3), [1, 2], object()], ids=lambda w: type(w).__name__)
def test_functions_refuse_what_is_no_tensor(wrong: object) -> None:
    assert len(FUNCTIONS) > 100
    for name in FUNCTIONS:
        try:
            getattr(lx, name)(wrong)
        except lx.LemmaxError as error:
            assert len(str(error)) > 20, name
        except TypeError as error:
            assert "argument" in str(error), name  # others are missing


def test_the_second_argument_is_looked_at_too() -> None:
    n = lx.size("n")
    x = lx.tensor("x", n)
    with pytest.raises(lx.InvalidArgument, match=r"dot: expected a tensor, got ndarray .*lx.compile"):
        lx.dot(x, np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(lx.InvalidArgument, match="norm: expected a tensor, got list"):
        lx.norm(t=[1.0, 2.0], ord=1)  # type: ignore[arg-type]
