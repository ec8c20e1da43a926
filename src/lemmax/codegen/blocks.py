r"""Operations that take several lines: softmax, log-sum-exp, sigmoid, log det, writing into zeros."""

from __future__ import annotations

from collections.abc import Callable

from lemmax.codegen.naming import Names
from lemmax.codegen.pytext import ATOM, SUM, UNARY
from lemmax.codegen.render import Renderer, axis_text
from lemmax.codegen.values import Value

_MASKED = "softmax: the logits of a row are -inf throughout; a mask must keep one entry per row"

Block = Callable[[Renderer, Value, str, Names], list[str]]


def softmax(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """Shift by the maximum, exponentiate, normalise; a row that is -inf throughout is an error."""
    axis, masked = v.params
    a = r.operand(v.args[0])
    over = axis_text((axis,), v.ndim, True)
    shift = f"{a.at(ATOM)}.max({over})"
    lines = []
    if masked:
        top = names.take(f"{name}_top")
        lines += [
            f"{top} = {shift}",
            f"if np.isneginf({top}.real).any():",
            f'    raise ValueError("{_MASKED}")',
        ]
        shift = top
    return [*lines, f"{name} = np.exp({a.at(SUM)} - {shift})", f"{name} /= {name}.sum({over})"]


def logsumexp(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """Shift by the maximum; a slice that is -inf throughout gives -inf."""
    axes, keepdims, masked = v.params
    a = r.operand(v.args[0])
    inner = v.args[0].ndim
    top = names.take(f"{name}_top")
    lines = [f"{top} = {a.at(ATOM)}.max({axis_text(axes, inner, True)})"]
    if masked:
        lines.append(f"{top} = np.where(np.isneginf({top}.real), 0, {top})")
    total = f"np.log(np.exp({a.at(SUM)} - {top}).sum({axis_text(axes, inner, True)}))"
    if masked:
        lines += ['with np.errstate(divide="ignore"):', f"    {name} = {top} + {total}"]
    else:
        lines.append(f"{name} = {top} + {total}")
    if not keepdims:
        axis = axes[0] if len(axes) == 1 else tuple(axes)
        lines.append(f"{name} = {name}.squeeze(axis={axis})")
    return lines


def sigmoid(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """1 / (1 + e^-x), by e^-|x| so that nothing overflows and small values keep their digits."""
    x = r.operand(v.args[0])
    small = names.take(f"{name}_exp")
    return [
        f"{small} = np.exp(np.minimum({x.text}, -{x.at(UNARY)}))",
        f"{name} = np.where({x.at(SUM)} >= 0, 1, {small}) / (1 + {small})",
    ]


def logdet(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """The logarithm of a determinant that must be positive."""
    sign = names.take(f"{name}_sign")
    return [
        f"{sign}, {name} = np.linalg.slogdet({r.operand(v.args[0]).text})",
        f"if ({sign}.real <= 0).any():",
        '    raise ValueError("logdet: a determinant is not positive, its logarithm is not defined")',
        f"{name} = {name} + np.log({sign})",
    ]


def place(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """Zeros with an array written at one place."""
    return [
        f"{name} = np.zeros({r.shape(v.shape)}, dtype=dtype)",
        f"{name}[{r.bounds(v.params)}] = {r.operand(v.args[0]).text}",
    ]


BLOCKS: dict[str, Block] = {
    "softmax": softmax,
    "logsumexp": logsumexp,
    "sigmoid": sigmoid,
    "logdet": logdet,
    "place": place,
}
"""Operation to the function that writes it down."""
