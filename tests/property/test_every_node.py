"""Every kind of node goes through every reading: pickles, values, code, LaTeX, flattening."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lemmax as lx
from lemmax.calculus.flatten import flatten
from lemmax.expr.functions import ELEMENTWISE
from lemmax.expr.graph import inputs_of, topological_order, transform
from lemmax.expr.nodes import ASSUMPTIONS, Apply, Derivative
from lemmax.expr.tensor import Tensor
from lemmax.interpret import Evaluator, MpArithmetic
from lemmax.interpret.applications import APPLICATIONS
from lemmax.rules.pullbacks import PULLBACKS
from tests import every_node
from tests.every_node import ASSUMED, SIZES, everything

NODES = everything()
VALUES = every_node.arrays()
NO_CODE = ("hull_distance", "total", "local")  # the interpreter's alone


def value(t: Tensor, **options: object) -> np.ndarray:
    evaluator = Evaluator([t])
    return np.asarray(evaluator.run(VALUES, sizes={p: SIZES[p] for p in evaluator.sizes}, **options)[0])


def test_everything_is_there() -> None:
    applied = {t.function for t in topological_order(*NODES.values()) if isinstance(t, Apply)}
    assert applied >= set(APPLICATIONS) | set(PULLBACKS), "add the new function to tests/every_node.py"
    assert set(NODES) >= set(ELEMENTWISE)
    assert set(ASSUMED) == set(ASSUMPTIONS)
    scopes = {t.scope for t in topological_order(*NODES.values()) if isinstance(t, Derivative)}
    assert scopes == {"total", "local"}


@pytest.mark.parametrize("name", NODES)
def test_pickle(name: str) -> None:
    again = pickle.loads(pickle.dumps(NODES[name]))
    assert again == NODES[name] and again.name == NODES[name].name


@pytest.mark.parametrize("name", NODES)
def test_interpreter(name: str) -> None:
    t = NODES[name]
    found = value(t)
    assert found.shape == tuple(int(s.subs({p: SIZES[str(p)] for p in s.free_symbols})) for s in t.shape)
    assert np.all(np.isfinite(found))
    exact = value(t, arithmetic=MpArithmetic(30)).astype(float)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-12 * max(np.abs(exact).max(), 1))


@pytest.mark.parametrize("name", NODES)
def test_code(name: str) -> None:
    t = NODES[name]
    if name in NO_CODE:
        with pytest.raises(lx.UnsupportedYet, match="code for"):
            lx.compile(t)
        return
    anchor = lx.sum(every_node.T) + lx.sum(every_node.x)  # tells all sizes
    fn = lx.compile([t, anchor])
    given = {lx.identifier(str(p.name)): VALUES[lx.identifier(str(p.name))] for p in inputs_of(t, anchor)}
    expected = value(t)
    np.testing.assert_allclose(fn(**given)[0], expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1))


@pytest.mark.parametrize("notation", ["matrix", "index"])
@pytest.mark.parametrize("name", NODES)
def test_latex(name: str, notation: str) -> None:
    text = lx.latex(NODES[name], notation=notation, where=True)
    assert text and text.count("{") == text.count("}") and text.count(r"\begin") == text.count(r"\end")
    assert "_i0" not in text and "_k0" not in text and "Piecewise" not in text


@pytest.mark.parametrize("name", NODES)
def test_flattening(name: str) -> None:
    (flat,) = flatten([NODES[name]])
    expected = value(NODES[name])
    np.testing.assert_allclose(value(flat), expected, rtol=0, atol=1e-12 * max(np.abs(expected).max(), 1))


@pytest.mark.parametrize("name", NODES)
def test_rebuilding_over_other_operands(name: str) -> None:
    """Renaming all inputs gives the same value for the same arrays, under the new names."""
    swap = {t: lx.Input(f"new_{t.name}", t.shape, t.assumptions) for t in inputs_of(NODES[name])}
    (renamed,) = transform([NODES[name]], lambda t: swap.get(t, t))
    evaluator = Evaluator([renamed])
    arrays = {f"new_{key}": x for key, x in VALUES.items()}
    (found,) = evaluator.run(arrays, sizes={p: SIZES[p] for p in evaluator.sizes})
    np.testing.assert_array_equal(found, value(NODES[name]))
