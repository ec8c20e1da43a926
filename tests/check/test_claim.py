r"""Claims: formulas of the literature are proved; wrong ones are refuted, with what mends them."""

from __future__ import annotations

import pytest

import lemmax as lx
from lemmax.check.claim import Finding
from lemmax.check.claim.given import given_in
from tests.check.paper_claims import BLOCKS, CLAIMS, GRADIENTS, SOFTMAX_HEAD, Claim, loss_of
from tests.thorough import THOROUGH

n, D, k = lx.sizes("n D k")
X, W, Y = lx.tensor("X", n, D), lx.tensor("W", D, k), lx.tensor("Y", n, k)
A, x = lx.tensor("A", n, n), lx.tensor("x", n)
SQUARES = lx.sqnorm(X @ W - Y) / 2


def check(claim: Claim, text: str | None = None, **options: object) -> Finding:
    loss, where = loss_of(claim.loss)
    return lx.check_formula(claim.text if text is None else text, loss, claim.wrt, where=where, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("claim", GRADIENTS, ids=[c.name for c in GRADIENTS])
def test_gradients_of_the_literature_are_proved(claim: Claim) -> None:
    found = check(claim)
    assert (found.verdict.name, found.repair) == ("proved", None)


SOME = BLOCKS if THOROUGH else BLOCKS[::2]


@pytest.mark.parametrize("claim", SOME, ids=[c.name for c in SOME])
def test_parts_of_blocks_of_the_literature_are_proved(claim: Claim) -> None:
    found = check(claim, part=claim.part)
    assert (found.verdict.name, found.repair) == ("proved", None)


@pytest.mark.parametrize("wrt", [("W^Q", "W^K"), ("W^V", "W^Q")], ids="-".join)
@pytest.mark.parametrize("loss", ["softmax head", "gaussian head"])
def test_blocks_are_the_sum_of_their_parts(loss: str, wrt: tuple[str, str]) -> None:
    outer, functional = sorted(
        (c for c in BLOCKS if (c.loss, c.wrt) == (loss, wrt)), key=lambda c: c.part, reverse=True
    )
    assert check(outer, f"{outer.text} + ({functional.text})").verdict.name == "proved"
    assert check(outer, f"{outer.text} - ({functional.text})").verdict.name == "refuted"
    assert check(outer, part="functional").verdict.name == "refuted"


HEADS = r"""
X \in \mathbb{R}^{N \times n \times D}
Y \in \mathbb{R}^{N \times n \times m}
W^V \in \mathbb{R}^{H \times D \times v}
W^O \in \mathbb{R}^{H \times v \times m}
S \in \mathbb{R}^{N \times H \times n \times n}
R_i = \sum_h S_{ih} X_i W^V_h W^O_h - Y_i
f = \frac{1}{2} \sum_i \|R_i\|_F^2
"""


def test_blocks_between_heads() -> None:
    loss, _ = given_in(HEADS).loss()
    text = r"\sum_i (S_{ih} X_i)^\top S_{ig} X_i \otimes W^O_h W^{O\top}_g"
    assert lx.check_formula(text, loss, ("W^V_h", "W^V_g")).verdict.name == "proved"
    # without letters the free indices are those of the first variable first, in alphabetical order
    assert lx.check_formula(text, loss, "W^V", order=2).verdict.name == "refuted"
    same = r"\sum_i (S_{ih} X_i)^\top S_{ih} X_i \otimes W^O_h W^{O\top}_h"
    found = lx.check_formula(same, loss, "W^V", order=2)
    assert found.verdict.name == "proved" and "one member" in found.note
    assert lx.check_formula(same, loss, ("W^V_h", "W^V_h")).verdict.name == "proved"


def test_an_index_for_each_family() -> None:
    loss, _ = given_in(HEADS).loss()
    shared = r"\sum_i (S_{ih} X_i)^\top S_{ig} X_i W^V_g \otimes W^O_h"
    own = r"(\sum_i (S_{ih} X_i)^\top R_i \otimes I_v) K_{vm}"
    wrt = ("W^V_h", "W^O_g")
    assert lx.check_formula(rf"{shared} + \delta_{{hg}} {own}", loss, wrt).verdict.name == "proved"
    found = lx.check_formula(rf"{shared} + {own}", loss, wrt)
    assert found.verdict.name == "refuted"
    assert found.repair is not None and found.repair.kind == "stacked" and r"\delta_{gh}" in found.repair.text


def test_no_functional_block_between_heads() -> None:
    loss, where = loss_of("softmax")
    rows = (
        r"M_{ihk} = \operatorname{diag}(\Delta_{ihk}) - \Delta_{ihk} s_{ihk}^\top - s_{ihk} \Delta_{ihk}^\top"
    )
    text = r"\frac{1}{d} \sum_i \sum_k x_{ik} x_{ik}^\top \otimes (W^{K\top}_h X_i^\top M_{ihk} X_i W^K_h)"
    options = {"where": (*where, rows), "part": "functional", "smallest": False}
    wrt = ("W^Q_h", "W^Q_g")
    assert lx.check_formula(rf"\delta_{{hg}} {text}", loss, wrt, **options).verdict.name == "proved"  # type: ignore[arg-type]
    found = lx.check_formula(text, loss, wrt, **options)  # type: ignore[arg-type]
    assert found.verdict.name == "refuted"
    assert found.repair is not None and r"\delta_{gh}" in found.repair.text


def test_the_order_of_vec() -> None:
    text, other = r"X^\top X \otimes I_k", r"I_k \otimes X^\top X"
    assert lx.check_formula(text, SQUARES, W, order=2).verdict.name == "proved"
    assert lx.check_formula(other, SQUARES, W, order=2, vec="column").verdict.name == "proved"
    found = lx.check_formula(other, SQUARES, W, order=2)
    assert found.verdict.name == "refuted" and found.repair is not None and found.repair.kind == "vec order"
    assert lx.equal(found.repair.result, found.right).name == "proved"


def test_scalars_and_vectors() -> None:
    w, b, y = lx.tensor("w", D), lx.tensor("b"), lx.tensor("y", n)
    loss = lx.sqnorm(X @ w + b - y) / 2
    for wrt, text in {
        ("w", "w"): r"X^\top X",
        ("w", "b"): r"X^\top \mathbf{1}",
        ("b", "b"): "n",
        ("b", "w"): r"\mathbf{1}^\top X",
    }.items():
        assert lx.check_formula(text, loss, wrt).verdict.name == "proved", wrt
    assert lx.check_formula(r"\mathbf{1}^\top (X w + b \mathbf{1} - y)", loss, "b").verdict.name == "proved"


def test_left_sides_and_displays_are_passed_over() -> None:
    for text in (
        r"\nabla_W f = X^\top (X W - Y)",
        r"\frac{\partial \mathcal{L}}{\partial W} = X^\top (X W - Y)",
        r"G = X^\top (X W - Y)",
        r"\begin{aligned} \nabla_W f &= X^\top X W \\ &\quad - X^\top Y \end{aligned}",
    ):
        assert lx.check_formula(text, SQUARES, W).verdict.name == "proved", text


def test_the_smallest_witness() -> None:
    witness = lx.check_formula(r"2 X^\top (X W - Y)", SQUARES, W).verdict.witness
    assert witness is not None
    assert set(witness.sizes.values()) == {1}
    assert {str(e) for a in witness.arrays.values() for row in a for e in row} <= {"-2", "-1", "0", "1", "2"}
    assert witness.comparisons[0].lhs != witness.comparisons[0].rhs


NETWORK = r"""
X \in \mathbb{R}^{n \times D}
W \in \mathbb{R}^{D \times k}
V \in \mathbb{R}^{k \times m}
Y \in \mathbb{R}^{n \times m}
R = \tanh(X W) V - Y
f = \frac12 \|R\|_F^2
"""
CLASSES = r"""
X \in \mathbb{R}^{n \times D}
W \in \mathbb{R}^{D \times k}
Y \in \mathbb{R}^{n \times k}
P = \operatorname{softmax}(X W)
f = \sum_i \log \sum_j \exp((X W)_{ij}) - \operatorname{tr}(Y^\top X W)
"""


@pytest.mark.parametrize(
    ("lines", "wrt", "text"),
    [
        (NETWORK, ("W",), r"X^\top (R V^\top \odot (1 - \tanh(X W)^{\odot 2}))"),
        (CLASSES, ("W",), r"X^\top (P - Y)"),
        (CLASSES, ("W", "W"), r"\sum_i x_i x_i^\top \otimes (\operatorname{diag}(p_i) - p_i p_i^\top)"),
    ],
    ids=["network", "classes", "classes, Hessian"],
)
def test_everyday_losses(lines: str, wrt: tuple[str, ...], text: str) -> None:
    loss, where = given_in(lines).loss()
    assert lx.check_formula(text, loss, wrt, where=where).verdict.name == "proved"


B = lx.tensor("B", k, n)
MISTAKES = {
    "row": (r"2 (X w)^\top X", lx.sqnorm(X @ lx.tensor("w", D)), "w", "layout", "column"),
    "order of a product": (
        r"X^\top X \otimes B^\top B", lx.sqnorm(X @ W @ B) / 2, (W, W),
        "transpose", "exchange the factors of B",
    ),
    "factor": (r"2 X^\top (X W - Y)", SQUARES, W, "factor", "1/2"),
    "sign of a summand": (r"X^\top X W + X^\top Y", SQUARES, W, "sign", "change the sign of X^\\top Y"),
    "layout": (r"(X W - Y)^\top X", SQUARES, W, "layout", "transpose the claim"),
    "lost transpose": (r"X (X W - Y)", SQUARES, W, "transpose", "transpose X"),
    "assumed symmetric": (r"2 A x x^\top A", lx.dot(A @ x, A @ x), x, None, ""),
    "quadratic form": (r"2 A x", x @ A @ x, x, "symmetry", "A is not symmetric"),
    "log det": (r"A^{-1}", lx.logdet(A), A, "layout", "transpose the claim"),
    "symmetric variable": (
        r"A^{-1} + A^{-\top} - \operatorname{Diag}(\operatorname{diag}(A^{-1}))",
        lx.logdet(A), A, "symmetry", "symmetric",
    ),
    "softmax": (
        r"\operatorname{softmax}(x) \odot y",
        lx.dot(lx.softmax(x), lx.tensor("y", n)), x, "softmax Jacobian", "rank-one",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_and_its_repair_proved(name: str) -> None:
    text, loss, wrt, kind, words = MISTAKES[name]
    found = lx.check_formula(text, loss, wrt)
    assert found.verdict.name == "refuted"
    if kind is None:
        assert found.repair is None
        return
    assert found.repair is not None and found.repair.kind == kind
    assert words in found.repair.text
    assert lx.equal(found.repair.result, found.right).name == "proved"


def test_a_repair_is_only_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that agrees in numbers and is not proved is no diagnosis."""
    from lemmax.check.claim import search
    from lemmax.statement import Verdict

    monkeypatch.setattr(search, "equal", lambda *a, **k: Verdict("unknown", "not tried"))
    found = lx.check_formula(r"2 X^\top (X W - Y)", SQUARES, W)
    assert found.verdict.name == "refuted" and found.repair is None


def test_wrong_use() -> None:
    for options in (
        {"wrt": "V"},
        {"wrt": (W, W, W)},
        {"wrt": (W, W), "order": 1},
        {"wrt": W, "part": "outer"},
    ):
        with pytest.raises(lx.InvalidArgument):
            lx.check_formula("W", SQUARES, **options)  # type: ignore[arg-type]
    with pytest.raises(lx.ParseError, match="not known"):
        lx.check_formula("Q", SQUARES, W)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (r"X \in \mathbb{R}^{0 \times D}", "line 2"),
        ("X", "expected a declaration"),
        (r"W \in \mathbb{R}", "declared twice"),
    ],
)
def test_files_that_declare_nothing(line: str, message: str) -> None:
    with pytest.raises(lx.InvalidArgument, match=message):
        given_in("W \\in \\mathbb{R}^{n}\n" + line)


def test_a_file_says_which_loss_is_meant() -> None:
    given = given_in(SOFTMAX_HEAD)
    loss, rest = given.loss()
    assert loss.ndim == 0 and rest[0] == "M_1 = S X"
    assert {"S", "R"} <= {t.name for t in lx.derive(loss, [given.inputs["W^Q"]]).loss.operands} | {"S", "R"}
    with pytest.raises(lx.InvalidArgument, match="no loss is given"):
        given_in(r"W \in \mathbb{R}^{n}").loss()
    with pytest.raises(lx.InvalidArgument, match="a loss is a scalar"):
        given_in("W \\in \\mathbb{R}^{n}\nf = W").loss()
    assert len(CLAIMS) > 30


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("3 w = 2 w", "a formula left of the equals sign"),
        (r"\nabla_y f = 2 w", "does not name w"),
        (r"\frac{\partial f}{\partial y} = 2 w", "does not name w"),
        (r"\frac{\partial^2 f}{\partial w \partial w^\top} = 2 w", "of second order"),
        ("2 w^2", "entry by entry"),
        ("1 / w", "a denominator must be a scalar"),
    ],
)
def test_what_cannot_be_the_claim_is_refused_not_judged(claim: str, said: str) -> None:
    D = lx.size("D")
    w, y = lx.tensor("w", D), lx.tensor("y", D)
    with pytest.raises(lx.ParseError, match=said):
        lx.check_formula(claim, lx.sqnorm(w) + lx.sqnorm(y), w)


@pytest.mark.parametrize(
    "left", ["", r"\nabla_w f = ", r"\frac{\partial f}{\partial w} = ", "G = ", r"\nabla f = "]
)
def test_left_sides_that_fit_are_passed_over(left: str) -> None:
    w = lx.tensor("w", lx.size("D"))
    assert lx.check_formula(f"{left}2 w", lx.sqnorm(w), w).verdict.name == "proved"
    assert lx.check_formula(f"{left}3 w", lx.sqnorm(w), w).verdict.name == "refuted"


@pytest.mark.parametrize("hat", [r"\hat y_i", r"\hat{y}_i"])
@pytest.mark.parametrize("defined", [r"\hat y_i", r"\hat{y}_i"])
def test_accents_go_without_braces(hat: str, defined: str) -> None:
    y, w = lx.tensor("y", n), lx.tensor("w", D)
    loss = lx.sqnorm(lx.sigmoid(X @ w) - y)
    text = rf"2 \sum_i ({hat} - y_i) {hat} (1 - {hat}) X_i"
    found = lx.check_formula(text, loss, w, where=rf"{defined} = \operatorname{{sigmoid}}((X w)_i)")
    assert found.verdict.name == "proved"


@pytest.mark.parametrize(("name", "written"), [("x1", "x_1"), ("alpha_Q", r"\alpha_{Q}"), ("W^Q_1", "W_1^Q")])
def test_left_sides_name_variables_as_formulas_do(name: str, written: str) -> None:
    v = lx.tensor(name, n)
    text = rf"\nabla_{{{written}}} f = 2 {written}"
    assert lx.check_formula(text, lx.sqnorm(v), v).verdict.name == "proved"
