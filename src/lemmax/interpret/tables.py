r"""Tables from SymPy's classes to the names that arithmetics know."""

from __future__ import annotations

import sympy as sp

from lemmax.expr import functions as own

FUNCTIONS: dict[type[sp.Basic], str] = {
    sp.exp: "exp",
    sp.log: "log",
    sp.Abs: "abs",
    sp.sign: "sign",
    sp.sin: "sin",
    sp.cos: "cos",
    sp.tan: "tan",
    sp.asin: "arcsin",
    sp.acos: "arccos",
    sp.atan: "arctan",
    sp.sinh: "sinh",
    sp.cosh: "cosh",
    sp.tanh: "tanh",
    sp.asinh: "arcsinh",
    sp.acosh: "arccosh",
    sp.atanh: "arctanh",
    sp.erf: "erf",
    own.sigmoid: "sigmoid",
    own.softplus: "softplus",
    own.relu: "relu",
    own.step: "step",
    sp.floor: "floor",
    sp.ceiling: "ceil",
}
"""Entrywise functions of one argument, by the name that arithmetics know."""

CONSTANTS: dict[sp.Basic, str] = {
    sp.pi: "pi",
    sp.E: "e",
    sp.oo: "inf",
    -sp.oo: "-inf",
    sp.nan: "nan",
}

COMPARISONS: dict[type[sp.Basic], str] = {
    sp.Eq: "==",
    sp.Ne: "!=",
    sp.Lt: "<",
    sp.Le: "<=",
    sp.Gt: ">",
    sp.Ge: ">=",
}
