r"""Operations that take several lines: softmax, log-sum-exp, sigmoid, log det, writing into zeros."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import sympy as sp

from lemmax.codegen.diagonals import subscripts
from lemmax.codegen.naming import Names
from lemmax.codegen.pytext import ATOM, SUM, UNARY
from lemmax.codegen.render import Renderer, axis_text
from lemmax.codegen.values import Value
from lemmax.expr.domains import DEFINED, NOT_NEGATIVE, NOT_ZERO

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
        lines += [f"{top} = {shift}", *masked_rows_lines(top)]
        shift = top
    return [*lines, f"{name} = np.exp({a.at(SUM)} - {shift})", f"{name} /= {name}.sum({over})"]


def masked_rows_lines(top: str) -> list[str]:
    """Refuse rows whose largest entry is -inf."""
    return [f"if np.isneginf({top}.real).any():", f'    raise ValueError("{_MASKED}")']


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
        f"{name}[{r.bounds(v.params, v.shape)}] = {r.operand(v.args[0]).text}",
    ]


def nonzero(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """A norm, or a power of one, by which a derivative divides."""
    told, place, prefix = str(v.params[0]).replace("\\", "\\\\").replace('"', '\\"'), "", ""
    if v.ndim:
        told, prefix = told.replace("{", "{{").replace("}", "}}"), "f"
        place = f" at {{tuple(map(int, np.argwhere({name} == 0)[0]))}}"
    what = f"the derivative of a norm does not exist at 0: {told} is 0{place}"
    return [
        f"{name} = {r.operand(v.args[0]).text}",
        f"if ({name} == 0).any():",
        *_raise("FloatingPointError", what, prefix),
    ]


def check(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """Refuse points at which a derivative does not exist; there is no result."""
    condition, told = v.params[:2]
    a = r.operand(v.args[0])
    if condition == DEFINED:  # what it is about raises by itself
        return []
    if condition == NOT_NEGATIVE:
        fails = f"{a.at(SUM)} < 0"
    elif condition == NOT_ZERO:
        fails = f"{a.at(SUM)} == 0"
    else:
        sizes = list(dict.fromkeys(r.size(s) for s in v.params[2]))
        least = sizes[0] if len(sizes) == 1 else f"min({', '.join(sizes)})"
        fails = f"{a.at(SUM)} < {least}"
    text = str(told).replace("\\", "\\\\").replace('"', '\\"')
    lines = [
        f"if ({fails}).any():",
        "    raise ValueError(",
        '        "no value or derivative exists at this point: "',
    ]
    lines += [f'        "{part}"' for part in _parts(text)]
    if v.args[0].ndim:
        lines.append(f'        f", at {{tuple(map(int, np.argwhere({fails})[0]))}}"')
    return [*lines, "    )"]


def _parts(text: str) -> list[str]:
    """Cut a text into parts that fit on a line, between words."""
    parts = textwrap.wrap(text, 84, break_long_words=False, break_on_hyphens=False)
    return [f"{part} " for part in parts[:-1]] + parts[-1:]


def _raise(error: str, what: str, prefix: str = "") -> list[str]:
    return [
        f"    raise {error}(",
        f'        {prefix}"{what}"',
        "        \"; differentiate with nonsmooth='subgradient' for one subgradient there\"",
        "    )",
    ]


def cofactors(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """Derivatives of a determinant from the singular value decomposition: nothing is divided."""
    a, n = r.operand(v.args[0]), r.size(v.args[0].shape[-1])
    u, s, vt = (names.take(f"{name}_{part}") for part in ("u", "s", "vt"))
    same, rest, sign = (names.take(f"{name}_{part}") for part in ("same", "rest", "sign"))
    lines = [
        f"{u}, {s}, {vt} = np.linalg.svd({a.text})",
        f"{sign} = np.linalg.det({u}) * np.linalg.det({vt})",
        f"{same} = np.eye({n}, dtype=bool)",
    ]
    if v.params[0] == 1:
        return [
            *lines,
            f"{rest} = np.where({same}, 1, {s}[..., None, :]).prod(axis=-1)  # of the other singular values",
            f"{name} = {sign}[..., None, None] * (({u} * {rest}[..., None, :]) @ {vt})",
        ]
    return [
        *lines,
        f"{rest} = np.where({same}[:, None] | {same}, 1, {s}[..., None, None, :]).prod(axis=-1) * ~{same}",
        f'{name} = np.einsum("...pq,...ip,...kq,...pj,...ql->...ijkl",',
        f"    {rest}, {u}, {u}, {vt}, {vt}, optimize=True)",
        f"{name} = {sign}[..., None, None, None, None] * ({name} - {name}.swapaxes(-1, -3))",
    ]


def singular_dyad(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """The outer product of a pair of singular vectors, of a value that is simple and positive."""
    k, kink = v.params
    at = "-1" if k == "last" else r.size(sp.expand(sp.sympify(k) - 1))
    u, s, vt = (names.take(f"{name}_{part}") for part in ("u", "s", "vt"))
    lines = [f"{u}, {s}, {vt} = np.linalg.svd({r.operand(v.args[0]).text}, full_matrices=False)"]
    if kink == "raise":
        others = f"np.delete({s}, {at}, axis=-1)"
        room, gaps = names.take(f"{name}_room"), names.take(f"{name}_gaps")
        lines += [
            f"{room} = 16 * {s}.shape[-1] * np.finfo(dtype).eps * {s}[..., :1]",
            f"{gaps} = np.append(np.abs({others} - {s}[..., {at}, None]), {s}[..., {at}, None], axis=-1)",
            f"if ({gaps} <= {room}).any():",
            *_raise(
                "ValueError", "the derivative of a singular value exists where it is simple and positive"
            ),
        ]
    return [*lines, f"{name} = {u}[..., :, {at}, None] * {vt}[..., {at}, None, :]"]


def eigen_projector(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """The outer square of an eigenvector, of an eigenvalue that is simple."""
    which, kink = v.params
    at = "0" if which == "min" else "-1"
    w, q = (names.take(f"{name}_{part}") for part in ("w", "q"))
    lines = [f"{w}, {q} = np.linalg.eigh({r.operand(v.args[0]).text})"]
    if kink == "raise":
        room = names.take(f"{name}_room")
        lines += [
            f"{room} = 16 * {w}.shape[-1] * np.finfo(dtype).eps * np.abs({w}).max(axis=-1, keepdims=True)",
            f"if (np.abs(np.delete({w}, {at}, axis=-1) - {w}[..., {at}, None]) <= {room}).any():",
            *_raise("ValueError", "the derivative of an eigenvalue exists where it is simple"),
        ]
    return [*lines, f"{name} = {q}[..., :, {at}, None] * {q}[..., None, :, {at}]"]


def polar(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """The product of left and right singular vectors."""
    u, s, vt = (names.take(f"{name}_{part}") for part in ("u", "s", "vt"))
    lines = [f"{u}, {s}, {vt} = np.linalg.svd({r.operand(v.args[0]).text}, full_matrices=False)"]
    room = f"16 * {s}.shape[-1] * np.finfo(dtype).eps * {s}[..., :1]"
    if v.params[0] != "raise":
        return [*lines, f"{name} = ({u} * ({s} > {room})[..., None, :]) @ {vt}"]
    return [
        *lines,
        f"if ({s} <= {room}).any():",
        *_raise("ValueError", "the derivative of a nuclear norm exists where the matrix has full rank"),
        f"{name} = {u} @ {vt}",
    ]


def on_diagonal(r: Renderer, v: Value, name: str, names: Names) -> list[str]:
    """An array, or zeros, with others added to its diagonals, of which einsum gives views."""
    has_base, diagonals = v.params
    start = r.operand(v.args[0]).text if has_base else f"np.zeros({r.shape(v.shape)}, dtype=dtype)"
    lines = [f"{name} = {start}"]
    for pairs, block in zip(diagonals, v.args[int(has_base) :], strict=True):
        view = f'np.einsum("{subscripts(pairs, v.ndim)}", {name})'
        lines.append(f"{view}[...] += {r.operand(block).text}")
    return lines


BLOCKS: dict[str, Block] = {
    "on_diagonal": on_diagonal,
    "softmax": softmax,
    "logsumexp": logsumexp,
    "sigmoid": sigmoid,
    "logdet": logdet,
    "place": place,
    "nonzero": nonzero,
    "check": check,
    "cofactors": cofactors,
    "singular_dyad": singular_dyad,
    "eigen_projector": eigen_projector,
    "polar": polar,
}
"""Operation to the function that writes it down."""
