"""Small theorem files for tests."""

from __future__ import annotations

from pathlib import Path

HEAD = """
import lemmax as lx

n = lx.size("n")
x, y = lx.tensor("x", n), lx.tensor("y", n)
"""

TRUE = (
    HEAD
    + """
THEOREM = lx.Theorem(
    name="triangle_inequality_of_vectors",
    conclusion=(lx.norm(x + y) <= lx.norm(x) + lx.norm(y)).named("triangle"),
    reference="folklore",
    mutants=[
        lx.Mutant("reversed", lx.norm(x + y) >= lx.norm(x) + lx.norm(y), "equality needs parallel vectors"),
        lx.Mutant("half", lx.norm(x + y) <= (lx.norm(x) + lx.norm(y)) / 2, "equality at y = x"),
        lx.Mutant("difference", lx.norm(x + y) <= lx.norm(x) - lx.norm(y), "false at x = 0"),
    ],
)
"""
)

FALSE = (
    HEAD
    + """
THEOREM = lx.Theorem(
    name="additive_norm_of_vectors",
    conclusion=lx.norm(x + y) >= lx.norm(x) + lx.norm(y),
    reference="nobody",
    expected="refuted",
)
"""
)

NOT_AS_EXPECTED = FALSE.replace("additive_norm", "wrong_norm").replace(
    'expected="refuted",',
    """mutants=[
        lx.Mutant("one", lx.norm(x) < 0, "norms are not negative"),
        lx.Mutant("two", lx.norm(y) < 0, "norms are not negative"),
        lx.Mutant("three", lx.norm(x + y) < 0, "norms are not negative"),
    ],""",
)

VACUOUS = TRUE.replace("triangle_inequality", "vacuous_claim").replace(
    'reference="folklore",',
    """reference="folklore",
    hypotheses=[(lx.norm(x) < 0).named("negative norm")],""",
)

SURVIVOR = TRUE.replace("triangle_inequality", "surviving_mutant").replace(
    'lx.norm(x + y) <= lx.norm(x) - lx.norm(y), "false at x = 0"',
    'lx.norm(x + y) <= 2 * (lx.norm(x) + lx.norm(y)), "it is in fact true"',
)

NAMES = {
    "triangle_inequality_of_vectors": TRUE,
    "additive_norm_of_vectors": FALSE,
    "wrong_norm_of_vectors": NOT_AS_EXPECTED,
    "vacuous_claim_of_vectors": VACUOUS,
    "surviving_mutant_of_vectors": SURVIVOR,
}


def put(folder: Path, *names: str) -> list[Path]:
    """Write theorem files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.py" for name in names]
    for path in paths:
        path.write_text(NAMES[path.stem])
    return paths
