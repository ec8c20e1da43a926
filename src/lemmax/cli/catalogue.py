r"""``lemmax list``: the models, theorems and rules there are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lemmax.cli.params import common
from lemmax.cli.screen import console, emit_json, folded, print_table, table
from lemmax.errors import DataError

NAME_WIDTH = 36


def models() -> list[dict[str, Any]]:
    """Return the shipped models with their inputs."""
    from lemmax.expr.graph import inputs_of
    from lemmax.models import MODELS

    found = []
    for name, build in MODELS.items():
        make: Callable[[], Any] = build
        found.append({"name": name, "inputs": [t.label() for t in inputs_of(make().loss)]})
    return found


def theorems() -> list[dict[str, Any]]:
    """Return the theorems that ``lemmax check`` runs, with their claims; broken files with the reason."""
    from lemmax.campaign.registry import default_files

    try:
        files = default_files()
    except DataError:
        return []
    return [_theorem(path) for path in files]


def _theorem(path: Path) -> dict[str, Any]:
    from lemmax.campaign.registry import load

    try:
        theorem = load(path)
    except DataError as error:
        return {"name": path.stem, "expected": None, "claim": f"cannot be loaded: {error}", "file": str(path)}
    return {
        "name": theorem.name,
        "expected": theorem.expected,
        "claim": claim_text(theorem),
        "file": str(path),
    }


def claim_text(theorem: Any) -> str:
    """Return what a theorem claims: its statement in words, or its conclusion in LaTeX."""
    if theorem.statement:
        return str(theorem.statement)
    from lemmax.expr.relation import Relation
    from lemmax.typeset import latex_relation

    texts = [
        latex_relation(c) if isinstance(c, Relation) else c.name or "convergence of gradient descent"
        for c in theorem.claims
    ]
    return "; ".join(texts)


def rules() -> list[dict[str, Any]]:
    """Return the rules that a step of a derivation may apply, with their statements."""
    from lemmax.derivation.statements import ALL_RULES, rule_statement

    return [
        {"name": name, "statement": rule_statement(name)[0], "conditions": rule_statement(name)[1]}
        for name in ALL_RULES
    ]


@click.command("list")
@common
def list_(as_json: bool) -> None:
    """List models, theorems and rules.

    Theorems are those of ./proofs, or the ones shipped with lemmax; their files are run.
    """
    if as_json:
        emit_json({"models": models(), "theorems": theorems(), "rules": rules()})
        return
    screen = console()
    made = table("model", "inputs", wrap=("inputs",))
    for model in models():
        made.add_row(model["name"], ", ".join(model["inputs"]))
    print_table(screen, made)
    screen.print()
    made = table("theorem", "expected", "claim", wrap=("claim",))
    for theorem in theorems():
        made.add_row(folded(theorem["name"], NAME_WIDTH), theorem["expected"] or "-", theorem["claim"])
    print_table(screen, made)
    screen.print()
    made = table("rule", "statement", wrap=("statement",))
    for rule in rules():
        made.add_row(rule["name"], rule["statement"])
    print_table(screen, made)
