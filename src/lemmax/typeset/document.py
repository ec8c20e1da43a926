r"""Documents as LaTeX: complete ones, and fragments to ``\input`` in one's own paper."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lemmax.errors import InvalidArgument
from lemmax.typeset.breaking import LINE, break_lines, width
from lemmax.typeset.conventions import conventions
from lemmax.typeset.escape import escape
from lemmax.typeset.records import (
    Block,
    Cite,
    Document,
    Equation,
    Inline,
    Math,
    Paragraph,
    Ref,
    Section,
    Statement,
    formulas,
)

_KINDS = {
    "step": "Step",
    "theorem": "Theorem",
    "lemma": "Lemma",
    "proposition": "Proposition",
    "definition": "Definition",
    "remark": "Remark",
}

_PREAMBLE = r"""\documentclass[11pt,a4paper]{article}
\usepackage{iftex}
\ifPDFTeX
  \usepackage[T1]{fontenc}
  \usepackage[utf8]{inputenc}
  \usepackage{textcomp}
\fi
\usepackage{lmodern}
\usepackage[margin=2.4cm]{geometry}
\usepackage{amsmath,amssymb,amsthm}
\usepackage{graphicx}
\usepackage{longtable}
\usepackage[hidelinks]{hyperref}
\usepackage[nameinlink]{cleveref}
"""


def render_document(document: Document) -> str:
    r"""Return a complete LaTeX document.

    Needs amsmath, amsthm, cleveref, hyperref, graphicx and longtable, and runs under pdfLaTeX,
    LuaLaTeX and XeLaTeX.

    Raises:
        InvalidArgument: a label is given twice, or a reference or citation has no target.
    """
    check_references(document)
    labels = Labels("")
    title = inline(document.title, labels)
    lines = [_PREAMBLE + theorem_environments(_kinds_used(document)), r"\begin{document}"]
    footnote = rf"\thanks{{{inline(document.footnote, labels)}}}" if document.footnote else ""
    lines += [rf"\title{{{title}{footnote}}}", r"\author{}", r"\date{}", r"\maketitle"]
    if document.abstract:
        lines += [r"\begin{abstract}", inline(document.abstract, labels), r"\end{abstract}"]
    lines += _body(document, labels)
    lines.append(r"\end{document}")
    return "\n".join(lines) + "\n"


def render_fragment(document: Document, prefix: str = "lemmax:") -> str:
    r"""Return the body of a document to ``\input`` in one's own paper.

    Args:
        document: what to write; title and abstract are left out.
        prefix: put before every label, so that labels cannot clash with those of the paper.

    Raises:
        InvalidArgument: a label is given twice, or a reference or citation has no target.
    """
    check_references(document)
    labels = Labels(prefix)
    kinds = _kinds_used(document)
    head = [
        "% Needs in the preamble, in this order:",
        r"%   \usepackage{amsmath,amssymb,amsthm,graphicx,longtable}",
        r"%   \usepackage{cleveref}",
    ]
    if kinds:
        head += [f"%   {line}" for line in theorem_environments(kinds).splitlines()]
    return "\n".join([*head, *_body(document, labels)]) + "\n"


def theorem_environments(kinds: Sequence[str]) -> str:
    """Return the definitions of the environments of statements, each with a counter of its own."""
    lines = []
    for kind in kinds:
        style = "definition" if kind in ("step", "definition", "remark") else "plain"
        lines += [rf"\theoremstyle{{{style}}}", rf"\newtheorem{{{kind}}}{{{_KINDS[kind]}}}"]
        lines.append(rf"\crefname{{{kind}}}{{{kind}}}{{{kind}s}}")
    return "\n".join(lines) + ("\n" if lines else "")


def _kinds_used(document: Document) -> list[str]:
    used = {b.kind for s in document.sections for b in _statements(s.body)}
    return [kind for kind in _KINDS if kind in used]


def _statements(blocks: Sequence[Block]) -> list[Statement]:
    found = []
    for b in blocks:
        if isinstance(b, Statement):
            found += [b, *_statements(b.body)]
    return found


# -- labels ------------------------------------------------------------------------------------
class Labels:
    """Turns the labels of records into labels of LaTeX."""

    def __init__(self, prefix: str) -> None:
        """Use ``prefix`` for all labels."""
        self.prefix = prefix

    def __call__(self, label: str) -> str:
        """Return a label in characters that LaTeX and cleveref take."""
        return self.prefix + re.sub(r"[^A-Za-z0-9:.-]", lambda m: f"-{ord(m[0]):x}-", label)


def check_references(document: Document) -> None:
    """Check that every label is given once and every reference has a target.

    Raises:
        InvalidArgument: not so; the message names the label.
    """
    given: list[str] = []
    asked: list[str] = []
    cited: list[str] = []

    def visit(pieces: Sequence[Inline]) -> None:
        for p in pieces:
            asked.extend(p.labels if isinstance(p, Ref) else ())
            cited.extend(p.keys if isinstance(p, Cite) else ())

    def walk(blocks: Sequence[Block]) -> None:
        for b in blocks:
            if isinstance(b, Paragraph):
                visit(b.pieces)
                continue
            given.extend([b.label] if b.label is not None else [])
            if isinstance(b, Statement):
                visit(b.title)
                walk(b.body)

    for pieces in (document.title, document.abstract, document.footnote):
        visit(pieces)
    for section in document.sections:
        given.extend([section.label] if section.label is not None else [])
        walk(section.body)
    keys = [r.key for r in document.references]
    for reference in document.references:
        visit(reference.pieces)
    for what, names in (("label", given), ("key of a reference", keys)):
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InvalidArgument(f"document: the {what} {twice[0]!r} is given twice; labels must differ.")
    for what, wanted, there in (("label", asked, given), ("reference", cited, keys)):
        missing = sorted(set(wanted) - set(there))
        if missing:
            raise InvalidArgument(
                f"document: no {what} {missing[0]!r}; there are {', '.join(sorted(there)) or 'none'}."
            )


# -- text --------------------------------------------------------------------------------------
def inline(pieces: Sequence[Inline], labels: Labels) -> str:
    """Return a line of text."""
    return "".join(_inline(p, labels) for p in pieces)


def _inline(piece: Inline, labels: Labels) -> str:
    if isinstance(piece, Math):
        return f"${piece.latex}$"
    if isinstance(piece, Ref):
        return rf"\cref{{{','.join(labels(name) for name in piece.labels)}}}"
    if isinstance(piece, Cite):
        place = f"[{escape(piece.place)}]" if piece.place else ""
        return rf"\cite{place}{{{','.join(labels(key) for key in piece.keys)}}}"
    # escape() joins runs of blanks; those at the ends separate the piece from its neighbours
    lead, tail = " " * piece[:1].isspace(), " " * (piece[-1:].isspace() and bool(piece.strip()))
    return f"{lead}{escape(piece)}{tail}"


def paragraph(p: Paragraph, labels: Labels) -> str:
    """Return a paragraph."""
    return inline(p.pieces, labels) + "\n"


# -- equations ---------------------------------------------------------------------------------
def display(e: Equation, labels: Labels) -> str:
    """Return a displayed formula in lines that fit, with a number if it has a label."""
    star = "" if e.label is not None else "*"
    label = rf"\label{{{labels(e.label)}}}" if e.label is not None else ""
    lines = display_lines(e)
    widest = max(width(left) + width(right) + (2.0 if not left else 0.0) for left, right in lines)
    body = r" \\".join(f"\n  {left} &{right}" if left else f"\n  &{right}" for left, right in lines)
    if len(lines) == 1:
        left, right = lines[0]
        inside = f"{left} {right}".strip()
    else:
        inside = rf"\begin{{split}}{body}" + "\n" + r"\end{split}"
    if widest > LINE + 4.0:  # cannot be broken any more: scaled down to the line
        inside = (
            rf"\resizebox{{0.9\linewidth}}{{!}}{{$\displaystyle \begin{{aligned}}{body}"
            + "\n"
            + r"\end{aligned}$}"
        )
    return f"\\begin{{equation{star}}}{label}\n{inside}\n\\end{{equation{star}}}"


def display_lines(e: Equation) -> list[tuple[str, str]]:
    """Return the lines of a display as (left of the alignment, right of it)."""
    if not e.right:
        first, *rest = break_lines(e.left)
        return [("", first), *(("", rf"\quad {line}") for line in rest)]
    left = e.left
    room = width(left)
    lines: list[tuple[str, str]] = []
    if room > LINE / 2:  # a long left side stands on a line of its own
        first, *rest = break_lines(left)
        lines = [("", first), *(("", rf"\quad {line}") for line in rest)]
        left, room = "", 2.0
    for position, right in enumerate(e.right):
        first, *rest = break_lines(right, LINE - room, LINE - room - 2.0)
        indent = r"\qquad " if not left and lines and position == 0 else ""
        lines.append((left if position == 0 else "", indent + first))
        lines += [("", rf"\quad {line}") for line in rest]
    return lines


# -- structure ---------------------------------------------------------------------------------
def _body(document: Document, labels: Labels) -> list[str]:
    lines: list[str] = []
    if document.notation:
        lines += [r"\section*{Notation}", _notation(document)]
    for section in document.sections:
        lines += _section(section, labels)
    if document.references:
        lines.append(rf"\begin{{thebibliography}}{{{len(document.references)}}}")
        for r in document.references:
            lines.append(rf"\bibitem{{{labels(r.key)}}} {inline(r.pieces, labels)}")
        lines.append(r"\end{thebibliography}")
    return lines


def _section(section: Section, labels: Labels) -> list[str]:
    label = rf"\label{{{labels(section.label)}}}" if section.label is not None else ""
    return [rf"\section{{{escape(section.title)}}}{label}", *_blocks(section.body, labels)]


def _blocks(blocks: Sequence[Block], labels: Labels) -> list[str]:
    lines: list[str] = []
    for b in blocks:
        if isinstance(b, Paragraph):
            lines.append(paragraph(b, labels))
        elif isinstance(b, Equation):
            lines.append(display(b, labels))
        else:
            lines += _statement(b, labels)
    return lines


def _statement(s: Statement, labels: Labels) -> list[str]:
    title = f"[{inline(s.title, labels)}]" if s.title else ""
    label = rf"\label{{{labels(s.label)}}}" if s.label is not None else ""
    return [rf"\begin{{{s.kind}}}{_protected(title)}{label}", *_blocks(s.body, labels), rf"\end{{{s.kind}}}"]


def _protected(title: str) -> str:
    """Return an optional argument whose content may hold square brackets."""
    return f"[{{{title[1:-1]}}}]" if title else ""


def _notation(document: Document) -> str:
    rows = [
        rf"  ${r.symbol}$ & ${r.shape}$ & \raggedright {r.meaning} \tabularnewline" for r in document.notation
    ]
    used = [f for s in document.sections for f in formulas(s.body)]
    notes = conventions(used)
    table = [
        r"{\renewcommand{\arraystretch}{1.25}",
        r"\begin{longtable}[l]{@{}llp{0.55\linewidth}@{}}",
        r"  symbol & shape & meaning \\ \hline \endhead",
        *rows,
        r"\end{longtable}}",
    ]
    text = r"\noindent " + " ".join(notes) + "\n" if notes else ""
    return "\n".join([*table, text])
