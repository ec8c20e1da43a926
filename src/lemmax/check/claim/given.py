r"""Losses and definitions in a text: declared inputs, then ``left = right``, one per line.

.. code-block:: text

    % one head on one sample
    X \in \mathbb{R}^{n \times D}
    W^Q, W^K \in \mathbb{R}^{D \times d}
    c \in \mathbb{R}
    k \in \mathbb{N}
    S = \operatorname{softmax}(X W^Q W^{K\top} X^\top / \sqrt{d})
    f = \frac{c}{2} \|S X W^V - Y\|_F^2
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lemmax.check.claim.source import Source, used_definitions
from lemmax.errors import InvalidArgument
from lemmax.expr.graph import topological_order
from lemmax.expr.nodes import Input
from lemmax.expr.notation import tensor
from lemmax.expr.sizes import Size, size
from lemmax.expr.tensor import Tensor
from lemmax.parse import parse_latex
from lemmax.parse.api import define_latex, defined_key
from lemmax.parse.names import Named, Names, key_of

_SPACE = r"(?:\\mathbb\s*\{?\s*R\s*\}?|\\R\b|\\Reals\b|\\mathbf\s*\{?\s*R\s*\}?)"
_DECLARED = re.compile(
    rf"(.+?)\\in\s*{_SPACE}(_\{{?\+\+?\}}?|_\{{>0\}})?\s*(?:\^\s*(\{{.*\}}|\w))?\s*[.,;]?\s*\Z"
)
_WHOLE = re.compile(r"(.+?)\\in\s*(?:\\mathbb\s*\{?\s*N\s*\}?|\\N\b)(?:_\{?\+\}?|_\{?>0\}?)?\s*[.,;]?\s*\Z")
_LOSSES = ("f", r"\mathcal{L}", "L", r"\ell", "J", r"\mathcal{J}")


@dataclass(frozen=True)
class Given:
    """What a text declares and defines.

    Attributes:
        inputs: declared inputs by name.
        definitions: the definitions, each ``left = right``, in their order.
        sizes: further positive integers, such as exponents.
    """

    inputs: dict[str, Input]
    definitions: tuple[str, ...]
    sizes: tuple[str, ...] = ()

    def loss(self, text: str | None = None) -> tuple[Tensor, tuple[str, ...]]:
        r"""Return the loss, and the definitions that are left for claims.

        Args:
            text: the loss in LaTeX; default: what ``f`` (``\mathcal{L}``, ``L`` ...) is defined as.

        Raises:
            InvalidArgument: no loss is defined, or it is no scalar.
            ParseError: it cannot be read.
        """
        rest = list(self.definitions)
        if text is None:
            name, text = self._defined_loss()
            rest.remove(f"{name} = {text}")
        names = self._names()
        for definition in used_definitions(Source(text, tuple(rest)), names.words):
            self._define(names, definition)
        loss = parse_latex(text, names)
        if loss.ndim:
            raise InvalidArgument(f"the loss {text} has {loss.ndim} axes; a loss is a scalar.")
        held = {key_of(str(t.name)) for t in topological_order(loss) if t.name is not None}
        return loss, tuple(d for d in rest if defined_key(d, names.words) not in held)

    def _define(self, names: Names, definition: str) -> None:
        """Add a definition; the tensor carries its name, so that results are printed with it."""
        own = names.copy()
        added = define_latex(definition, own)
        names.open |= own.open
        for named in added:
            t = named.tensor
            if t.name is None and not isinstance(t, Input):
                t = t.named(named.key.text)
            names.include([Named(named.key, t, named.given)])

    def _names(self) -> Names:
        names = Names()
        for name, t in self.inputs.items():
            names.add(name, t)
        for name in self.sizes:
            names.add_size(size(name))
        return names

    def _defined_loss(self) -> tuple[str, str]:
        found: dict[str, tuple[str, str]] = {}
        for definition in self.definitions:
            left, _, right = definition.partition("=")
            found.setdefault(re.sub(r"\s", "", left), (left.strip(), right.strip()))
        for name in _LOSSES:
            if name in found:
                return found[name]
        raise InvalidArgument("no loss is given: define one as f = ..., or say which formula it is (--loss).")


def given_in(lines: str | Sequence[str]) -> Given:
    """Return what a text declares and defines; ``%`` and ``#`` begin comments.

    Raises:
        InvalidArgument: a line is neither a declaration nor a definition, or a name comes twice.
    """
    inputs: dict[str, Input] = {}
    definitions: list[str] = []
    sizes: list[str] = []
    for number, line in _lines(lines):
        match = _DECLARED.match(line)
        whole = _WHOLE.match(line)
        if whole:
            sizes += [str(_size(name, number)) for name in _split_names(whole[1])]
        elif match:
            for name, t in _declared(match, number):
                if key_of(name) in {key_of(other) for other in inputs}:
                    raise InvalidArgument(f"line {number}: {name} is declared twice.")
                inputs[name] = t
        elif "=" in line:
            left, _, right = line.partition("=")
            definitions.append(f"{left.strip()} = {right.strip()}")
        else:
            raise InvalidArgument(
                rf"line {number}: {line!r}: expected a declaration, X \in \mathbb{{R}}^{{n \times D}} or"
                r" k \in \mathbb{N}, or a definition, P = R V^T."
            )
    return Given(inputs, tuple(definitions), tuple(sizes))


def _lines(text: str | Sequence[str]) -> Iterator[tuple[int, str]]:
    r"""Yield lines with their numbers, without comments, dollars and full stops; a ``\`` at the end joins."""
    raw = text.splitlines() if isinstance(text, str) else list(text)
    held, start = "", 0
    for number, line in enumerate(raw, 1):
        bare = re.split(r"(?<!\\)%|^\s*#", line)[0].strip().strip("$").strip()
        start = start or number
        if bare.endswith("\\") and not bare.endswith("\\\\"):
            held += bare[:-1] + " "
            continue
        whole = (held + bare).rstrip(".,;").strip()
        if whole:
            yield start, whole
        held, start = "", 0


def _size(name: str, number: int) -> Size:
    try:
        return size(name)
    except InvalidArgument as error:
        raise InvalidArgument(f"line {number}: {error}") from error


def _declared(match: re.Match[str], number: int) -> Iterator[tuple[str, Input]]:
    names, positive, power = match[1], match[2], match[3]
    inner = (power or "").strip().removeprefix("{").removesuffix("}")
    parts = [p.strip() for p in re.split(r"\\times|,|\\cdot", inner) if p.strip()]
    try:
        shape = [int(p) if p.isdigit() else size(p) for p in parts]
        for name in _split_names(names):
            yield name, tensor(name, *shape, **({"positive": True} if positive else {}))
    except InvalidArgument as error:
        raise InvalidArgument(f"line {number}: {error}") from error


def _split_names(text: str) -> list[str]:
    """Return names separated by commas outside of braces."""
    found, depth, piece = [], 0, ""
    for character in [*text, ","]:
        if character == "," and depth == 0:
            found.append(piece.strip())
            piece = ""
            continue
        depth += (character == "{") - (character == "}")
        piece += character
    return [f for f in found if f]
