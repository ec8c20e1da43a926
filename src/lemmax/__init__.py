r"""lemmax: a symbolic-numeric proof assistant toolkit for the calculus behind machine-learning theory.

The public names live here and are loaded when they are first used, so that importing lemmax
costs little more than importing SymPy and NumPy.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from lemmax._version import __version__
from lemmax.expr.display import register_printer

# public name -> (module, attribute)
_PUBLIC: dict[str, tuple[str, str]] = {}


def _export(module: str, *names: str, **renamed: str) -> None:
    for name in names:
        _PUBLIC[name] = (module, name)
    for name, attribute in renamed.items():
        _PUBLIC[name] = (module, attribute)


_export(
    "lemmax.errors", "LemmaxError", "InvalidArgument", "ShapeError", "NameClash", "MissingRule", "NonSmooth"
)
_export("lemmax.errors", "UnsupportedYet", "EvaluationError", "ReplayError", "DataError", "ToolMissing")
_export("lemmax.expr.sizes", "size", "sizes")
_export("lemmax.expr.tensor", "Tensor", "identifier")
_export("lemmax.expr.nodes", "Input", "Lambda", "Apply", "Derivative")
_export("lemmax.expr.relation", "Relation")
_export(
    "lemmax.expr.notation",
    "tensor",
    "tensor_from",
    "index_sum",
    "einsum",
    "zeros",
    "ones",
    "full",
    "causal_mask",
)
_export(
    "lemmax.expr.linalg", "matmul", "permute", "trace", "diag", "eye", "outer", "dot", "inv", "det", "logdet"
)
_export("lemmax.expr.matrix_functions", "solve", "pinv", "matrix_power", "adjugate")
# names of the array API for the same things, so that code written against it can be traced
_export("lemmax.expr.linalg", "matrix_transpose", permute_dims="permute")
_export("lemmax.expr.reductions", "sum", "mean", "sqnorm", "max", "min", "prod", "logsumexp", "softmax")
_export("lemmax.expr.reductions", "log_softmax")
_export("lemmax.expr.norms", "norm")
_export(
    "lemmax.expr.functions", "exp", "log", "sqrt", "sign", "sin", "cos", "tan", "arcsin", "arccos", "arctan"
)
_export(
    "lemmax.expr.functions",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "erf",
    "arctan2",
    "maximum",
    "minimum",
)
_export("lemmax.expr.functions", "where", abs="abs_", sigmoid="sigmoid_", softplus="softplus_", relu="relu_")
_export("lemmax.expr.functions", "floor", "ceil")
# more entrywise functions: those that are written by others, and the special ones of SciPy
_export("lemmax.expr.special", "sec", "csc", "cot", "arcsec", "arccsc", "arccot", "sech", "csch", "coth")
_export("lemmax.expr.special", "arcsech", "arccsch", "arccoth", "log2", "log10", "exp2", "cbrt", "sinc")
_export("lemmax.expr.special", "factorial", "hypot", "logaddexp", "beta", "poch", "binom", "expm1", "log1p")
_export("lemmax.expr.special", "erfc", "erfi", "erfinv", "erfcinv", "gamma", "loggamma", "digamma")
_export("lemmax.expr.special", "polygamma", "besselj", "bessely", "besseli", "besselk", "spherical_jn")
_export("lemmax.expr.special", "airyai", "airyaiprime", "airybi", "airybiprime", "expi", "expn", "sinint")
_export("lemmax.expr.special", "cosint", "sinhint", "coshint", "fresnels", "fresnelc", "lambertw")
_export("lemmax.expr.special", "elliptic_k", "elliptic_e", "ellipkinc", "ellipeinc", "gammainc", "gammaincc")
_export("lemmax.expr.special", "betainc", "harmonic", "zeta", "hurwitz_zeta", "hyp1f1", "hyp2f1")
_export("lemmax.expr.indexing", "concat", "stack", "merge", "split", "vec", "kron")
_export("lemmax.expr.functionals", "rank", "sigma", "sigma_min", "spectral_norm", "nuclear_norm", "cond")
_export("lemmax.expr.functionals", "lambda_min", "lambda_max", "hull_distance")
_export("lemmax.expr.graph", "substitute")
_export("lemmax.calculus.gradient", "gradient")
_export("lemmax.calculus.forward", "jacobian", "hvp")
_export("lemmax.calculus.hessian", "hessian")
_export("lemmax.calculus.split", "hessian_split", "HessianSplit")
_export("lemmax.check.equality", "equal")
_export("lemmax.derivation", "derive", "Derivation")
_export("lemmax.interpret", "evaluate")
_export("lemmax.typeset", "latex")
_export("lemmax.parse", "parse_latex")
_export("lemmax.errors", "ParseError")
_export("lemmax.codegen", "compile")
_export("lemmax.statement", "Theorem", "Verdict", "Mutant", "Report")
_export("lemmax.check", "check", "check_gradient")
_export("lemmax.check.claim", "check_formula")

__all__ = ["__version__", "models", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name == "models":
        return importlib.import_module("lemmax.models")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lemmax' has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def _latex_of(t: Any) -> str:
    from lemmax.typeset import latex

    return str(latex(t))


register_printer(_latex_of)


class _Package(ModuleType):
    """The package: ``lx.check`` is the function and stays so when the module of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, ModuleType) and name in _PUBLIC:
            return  # the import system binds a submodule here; it stays reachable through sys.modules
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted(__all__)
