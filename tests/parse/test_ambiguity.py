"""What can be read in several ways is an error that shows them, at its place."""

from __future__ import annotations

import numpy as np
import pytest

import lemmax as lx
from lemmax.expr.graph import inputs_of
from tests.parse.inputs import A, B, marked, n, read, readings, s, x, y

square = lx.tensor("W", n, n)


def refusal(text: str, **names: lx.Tensor) -> lx.ParseError:
    with pytest.raises(lx.ParseError) as caught:
        lx.parse_latex(text, {"A": A, "B": B, "x": x, "y": y, "s": s, **names})
    return caught.value


CASES = [
    ("1/2 A", {}, "1/2 A", [r"\frac{1}{2} A", r"\frac{1}{2 A}"]),
    (r"x + 1/s x", {}, "1/s x", [r"\frac{1}{s} x", r"\frac{1}{s x}"]),
    (r"s/2/2", {}, "s/2/2", [r"\frac{s}{2} /2", r"\frac{s}{2 /2}"]),
    ("WA", {"W": square, "WA": square}, "WA", ["WA", "W times A"]),
    ("W^T x", {"W": square, "W^T": A}, "W^T", ["the tensor W, superscript T", "the tensor W^{T}"]),
    ("x_1", {"x_1": x}, "x_1", ["the tensor x, subscript 1", "the tensor x_{1}"]),
    ("s^T", {"T": s}, "s^T", [r"s^\top", "s^{(T)}"]),
    ("e^{s} x", {"e": s}, "e^{s}", ["the tensor e, superscript s", "the exponential function"]),
    ("tr(A)", {"t": s, "r": s}, "tr(A)", [r"\operatorname{tr}(...)", "t r (...)"]),
    (r"\log s s", {}, r"\log s s", [r"\log(s) s", r"\log(s s)"]),
    (
        r"\operatorname{tr} A A",
        {},
        r"\operatorname{tr} A A",
        [r"\operatorname{tr}(A) A", r"\operatorname{tr}(A A)"],
    ),
    (r"\exp s \cdot s", {}, r"\exp s \cdot s", [r"\exp(s) \cdot s", r"\exp(s \cdot s)"]),
    (r"\log\det(A)^2", {}, r"\log\det(A)^2", [r"(\log\det(A))^2", r"\log(\det(A)^2)"]),
    (r"\|A\|", {}, r"\|A\|", [r"\|A\|_F, the Frobenius norm", r"\|A\|_2, the largest singular value"]),
    (r"|A|", {}, "A", [r"\operatorname{abs}(A), entry by entry", r"\|A\|", r"\det(A)"]),
    (r"A x \odot y", {}, r"A x \odot y", [r"(A x) \odot y", r"A (x \odot y)"]),
    (r"A \odot A A", {}, r"A \odot A A", [r"A \odot (A A)", r"(A \odot A) A"]),
    (r"A_{ij}^\top", {}, r"A_{ij}^\top", [r"(A^{\top})_{ij}, an entry of the matrix"]),
    (
        r"A^{-1}_{ij}",
        {},
        r"A^{-1}_{ij}",
        [r"(A^{-1})_{ij}, an entry of the matrix", r"(A_{ij})^{-1}, a power of an entry"],
    ),
    (
        r"A^2_{ij}",
        {},
        "A^2_{ij}",
        ["(A^{2})_{ij}, an entry of the matrix", "(A_{ij})^{2}, a power of an entry"],
    ),
    (r"\operatorname{diag}(A 1)", {}, "A 1", [r"A \mathbf{1}, times the vector of ones", "A"]),
    (r"\sum_i x_i + y_i", {}, "y_i", None),
    (r"\sum_{i < j} A_{ij}", {}, "i < j", None),
    (r"\operatorname{Diag}(A)", {}, r"\operatorname{Diag}(A)", None),
    (r"\sigma(s)", {}, r"\sigma(s)", [r"\operatorname{sigmoid}(s)", r"\sigma_{k}(s), a singular value"]),
    ("2 3 s", {}, "2 3 s", [r"2 \cdot 3", "23"]),
    ("x_12", {}, "_12", ["_{12}", r"_{1} \cdot 2"]),
    ("a_{11}", {}, "a_{11}", ["1, 1", "11"]),
    ("A + 1", {}, "A + 1", None),
    (r"e^{A}", {}, "A", [r"\exp^{\circ}(A), entry by entry"]),
    (r"\sqrt{A}", {}, "{A}", None),
    (
        r"\exp(A)",
        {},
        r"\exp(A)",
        [
            r"\exp^{\circ}(A), entry by entry (so are all, with entrywise=True)",
            r"\operatorname{expm}(A), which lemmax does not have",
        ],
    ),
    (r"\log A", {}, r"\log A", None),
    (r"A \ast A", {}, r"A \ast A", None),
    (r"\exp(-A/2) x", {}, r"\exp(-A/2)", None),
    (r"\operatorname{tr} \log(A A^\top)", {}, r"\log(A A^\top)", None),
    ("A * A", {}, "A * A", ["A A, the matrix product", r"A \odot A, entry by entry"]),
    ("x * y", {}, "x * y", None),
    (
        r"\sum_{i \ne j} A_{ij}",
        {},
        r"i \ne j",
        [
            "i alone, with j an index from outside: say so with indices='j'",
            r"i and j: two sums, \sum_{j} \sum_{i \ne j}",
        ],
    ),
    ("x_n", {}, "n", ["place n", "an index called n"]),
    (r"\sum_{k} k x_k", {"k": s}, "k", ["the tensor k", "the index k as a number"]),
    (r"[x_i x]_{i}", {}, "[x_i x]_{i}", None),
]


@pytest.mark.parametrize(("text", "names", "place", "wanted"), CASES, ids=[case[0] for case in CASES])
def test_readings_are_shown_at_the_place(
    text: str, names: dict[str, lx.Tensor], place: str, wanted: list[str] | None
) -> None:
    error = refusal(text, **names)
    assert marked(error) == place
    shown = readings(error)
    assert shown == wanted if wanted is not None else len(shown) >= 2


CLEAR = [
    r"A y^\top x",
    r"\frac{1}{2} A",
    r"(1/2) A",
    r"A/2",
    "A^T",
    r"x^\top A^T y",
    r"\log s + s",
    r"s \log s",
    r"\log s \log s",
    r"\log \det A",
    r"\log \sum_i e^{x_i}",
    r"\|x\|",
    r"|s|",
    r"(A x) \odot y",
    r"2 x \odot y",
    "A_{ij}^2",
    "x_i^{-1}",
    "A_{1,1}",
]


@pytest.mark.parametrize("text", CLEAR)
def test_what_is_clear_is_read(text: str) -> None:
    assert read(text).ndim <= 2


def test_an_entry_of_a_function_is_the_function_of_the_entry() -> None:
    want = lx.sum(B * lx.log(lx.softmax(B)))
    found = read(r"\sum_i \sum_j B_{ij} \log \operatorname{softmax}(B)_{ij}")
    assert lx.equal(found, want).name == "proved"
    for text in (r"\log \operatorname{softmax}(B)^2", r"\operatorname{tr} \operatorname{softmax}(A)_{ij}"):
        with pytest.raises(lx.ParseError):
            read(text)


def test_precedence_of_products() -> None:
    want = lx.kron(A @ A, B)
    assert lx.equal(read(r"A A \otimes B"), want).name == "proved"
    with pytest.raises(lx.ParseError, match="use brackets"):
        read(r"A \otimes A \odot A")


def test_a_number_beside_entries() -> None:
    """``1 - p`` has one reading; a matrix that may be square has two, other scalars are slips."""
    assert lx.equal(read(r"x \odot (1 - x)"), x * (1 - x)).name == "proved"
    assert lx.equal(read(r"(1 - \tanh(B)) + 1/2", like=B), 1.5 - lx.tanh(B)).name != "refuted"
    assert lx.equal(read(r"2 - B^\top", like=B.T), 2 - B.T).name == "proved"
    for text in ("1 - A", "A + 2"):
        assert len(readings(refusal(text))) == 2
    for text in ("s + x", "x - y^\\top y", "s - B"):
        assert isinstance(refusal(text), lx.ShapeError)


def test_each_reading_can_be_said() -> None:
    pairs = {
        r"\exp^{\circ}(A)": lx.exp(A),
        r"\log^{\circ}(A A^\top)": lx.log(A @ A.T),
        r"\exp^{\circ}(s)": lx.exp(lx.tensor("s")),
        r"\exp(B)": lx.exp(B),
        r"\exp(A_{ij})": lx.exp(A),
        r"\tanh^{\circ}(A)": lx.tanh(A),
        "2 * A": 2 * A,
        r"\sum_{j} \sum_{i \ne j} A_{ij}": lx.sum(A) - lx.trace(A),
        r"x_j + \sum_{i \ne j} A_{ij}": x + lx.sum(A, axis=0) - lx.diag(A),
    }
    rng = np.random.default_rng(0)
    given = {"A": rng.random((3, 3)), "B": rng.random((3, 2)), "x": rng.random(3), "s": 0.3}
    for text, want in pairs.items():
        one, other = (
            lx.evaluate(t, {str(v.name): given[str(v.name)] for v in inputs_of(t)})
            for t in (read(text), want)
        )
        np.testing.assert_allclose(one, other, rtol=1e-13, err_msg=text)
    off = lx.sum(A, axis=0) - lx.diag(A)
    for found in (
        lx.parse_latex(r"\sum_{i \ne j} A_{ij}", indices="j", A=A),
        lx.parse_latex(r"\sum_{i \ne j} A_{ij}", like=off, A=A),
    ):
        np.testing.assert_allclose(
            lx.evaluate(found, A=given["A"]), lx.evaluate(off, A=given["A"]), rtol=1e-13
        )
    declared = lx.parse_latex(r"\exp(A) \log(A)", entrywise=True, A=A)
    assert lx.equal(declared, lx.exp(A) @ lx.log(A)).name == "proved"


def test_what_is_printed_is_no_exponential_of_a_matrix() -> None:
    for t in (lx.exp(A), lx.log(lx.exp(A) + 1) @ A, lx.exp(B), lx.exp(lx.tensor("s"))):
        back = lx.parse_latex(lx.latex(t), t, like=t)
        assert lx.equal(back, t).name == "proved"
    assert lx.latex(lx.exp(A)) == r"\exp^{\circ}(A)"
    assert lx.latex(lx.exp(B)) == r"\exp(B)"
