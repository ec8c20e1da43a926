"""Hostile input: deep, long, or meant to be run; a clear error, soon."""

from __future__ import annotations

import time

import pytest

import lemmax as lx
from tests.parse.inputs import NAMES, read

HOSTILE = {
    "parentheses": "(" * 10_000 + "s" + ")" * 10_000,
    "braces": "{" * 10_000,
    "scripts": "s^{" * 10_000 + "2" + "}" * 10_000,
    "bare scripts": "s^" * 10_000,
    "bars": "|" * 10_000,
    "fractions": r"\frac{1}{" * 5_000,
    "roots": r"\sqrt{" * 5_000 + "s" + "}" * 5_000,
    "sums": r"\sum_{i} " * 5_000 + "x_i",
    "functions": r"\exp " * 5_000 + "s",
    "accents": r"\bar{" * 5_000 + "s",
    "primes": "s" + "'" * 10_000,
    "signs": "-" * 10_000 + "s",
    "length": "s" * 200_000,
    "factors": "A " * 20_000,
    "summands": "A+" * 20_000 + "A",
    "numbers": "9" * 50_000,
    "towers": "9^{9^{9^{9}}} s",
    "power": "2^{1000000000} s",
    "matrix power": "A^{100000000}",
    "arguments": r"\max(" + "s," * 5_000 + "s)",
    "subscripts": "A_{" + "1," * 5_000 + "1}",
    "letters": "abcdefghijklmnopqrstuvwxyz" * 400,
    "free indices": " ".join(f"x_{c}" for c in "abcdefghijklopqrtuvw"),
    "blocks": r"\begin{bmatrix}" + r"\begin{bmatrix}" * 5_000,
    "names": r"\mathrm{" + "a" * 50_000 + "}",
    "control characters": "A\x00B",
    "not Latin": "\N{GREEK SMALL LETTER ALPHA} A",
    "surrogate": "A \ud800",
}


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_hostile_input_is_refused_soon(kind: str) -> None:
    read("A")  # the parser is made once
    start = time.process_time()
    with pytest.raises(lx.ParseError) as caught:
        lx.parse_latex(HOSTILE[kind], NAMES, like=NAMES["A"])
    assert time.process_time() - start < 5
    assert len(str(caught.value)) < 3_000


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        r"\input{/etc/passwd}",
        r"\write18{ls}",
        r"\def\x{\x\x}\x",
        r"\operatorname{eval}(s)",
        "lambda: 0",
        "exec(1)",
    ],
)
def test_nothing_is_run(text: str) -> None:
    with pytest.raises(lx.ParseError):
        read(text)


def test_long_formulas_are_read() -> None:
    start = time.process_time()
    assert read(" + ".join(["A x"] * 400), like=NAMES["x"]).shape == NAMES["x"].shape
    assert read("(" * 40 + "A" + ")" * 40) == NAMES["A"]
    assert time.process_time() - start < 10
