"""What the rules of all tables say, in LaTeX or words, and where they come from."""

from __future__ import annotations

from lemmax.derivation.forward_rules import FORWARD_RULES, FORWARD_STATEMENTS
from lemmax.derivation.line_rules import LINE_RULES, LINE_STATEMENTS
from lemmax.derivation.rules import RULES, STATEMENTS
from lemmax.derivation.split_rules import SPLIT_RULES, SPLIT_STATEMENTS
from lemmax.rules.pullbacks import PULLBACKS
from lemmax.rules.pushforwards import PUSHFORWARDS
from lemmax.rules.records import Pullback

ALL_RULES = tuple(dict.fromkeys((*RULES, *FORWARD_RULES, *SPLIT_RULES, *LINE_RULES)))
"""The names of all rules: of adjoints, of tangents, of the parts of a Hessian."""


def rule_statement(rule: str) -> tuple[str, str]:
    """Return what a rule says, in LaTeX or words, and its conditions in words."""
    row = _pullback(rule)
    conditions = "" if row is None else row.conditions
    for forward in PUSHFORWARDS.values():
        if forward.name == rule:
            return forward.statement, conditions
    if row is not None:
        return row.statement, conditions
    return {**STATEMENTS, **FORWARD_STATEMENTS, **SPLIT_STATEMENTS, **LINE_STATEMENTS}[rule]


def rule_reference(rule: str) -> str | None:
    """Return the source of a rule that has one."""
    row = _pullback(rule)
    return None if row is None else row.reference


def _pullback(rule: str) -> Pullback | None:
    """Return the row of the reverse sweep that has the name, or is about the same function."""
    functions = {row.function for row in PUSHFORWARDS.values() if row.name == rule}
    rows = PULLBACKS.values()
    return next((row for row in rows if row.name == rule or row.function in functions), None)
