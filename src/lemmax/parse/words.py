r"""What commands and upright words of a formula are: operators, functions, letters, spaces."""

from __future__ import annotations

from lemmax.expr.special import SPECIAL, WRITTEN


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


GREEK = _words(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi varpi",
    "rho varrho sigma varsigma tau upsilon phi varphi chi psi omega",
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell",
)
SPELLED = {"lam": r"\lambda", "eps": r"\varepsilon"}
"""Names in code that stand for Greek letters."""

ACCENTS = _words(
    "bar hat tilde dot ddot check breve acute grave vec widehat widetilde overline underline mathring"
)
UPRIGHT = _words("mathrm operatorname text textrm textup textsf mathsf mathop")
"""Fonts that make a word of letters."""

_TWO = {"hypot", "logaddexp", "beta", "poch", "binom"}  # functions of two arguments
_SAME = _words(
    "exp log sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh erf sigmoid",
    "softplus relu step sign abs floor ceiling pow atan2 max min prod logsumexp softmax",
    "dyad polar proj tr det logdet rank cond vec diag onehot dist conv blkdiag",
)
FUNCTIONS: dict[str, str] = {
    **{name.replace("_", ""): name for name in sorted({*SPECIAL, *WRITTEN} - _TWO)},
    **{name: name for name in sorted(_SAME)},
    "Diag": "Diag",
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "ln": "log",
    "arctan2": "atan2",
    "Tr": "tr",
    "trace": "tr",
    "Vec": "vec",
    "vect": "vec",
    "sgn": "sign",
    "ReLU": "relu",
    "lse": "logsumexp",
    "LSE": "logsumexp",
    "rk": "rank",
    "blockdiag": "blkdiag",
    "bdiag": "blkdiag",
    "Softmax": "softmax",
    "ceil": "ceiling",
    "dg": "diag",
}
"""Functions by the words that people write for them."""

BIG: dict[str, str] = {
    "sum": "sum",
    "prod": "prod",
    "max": "max",
    "min": "min",
    "logsumexp": "logsumexp",
    "argmax": "argmax",
    "argmin": "argmin",
    "bigoplus": "blkdiag",
}
"""Operators that act on all that follows, up to the next plus or minus."""

_OPERATORS: dict[str, str] = {
    "CDOT": "cdot",
    "STAR": "ast",
    "TIMES": "times",
    "HADAMARD": "odot circ",
    "QUOTIENT": "oslash",
    "KRON": "otimes",
    "SLASH": "slash",
    "MOD": "bmod",
    "RELATION": "le leq leqslant ge geq geqslant lt gt ne neq",
    "IN": "in",
    "TOP": "top intercal transpose",
    "PRIME": "prime",
    "DAGGER": "dagger",
    "INFINITY": "infty",
    "DOTS": "cdots vdots ddots dots ldots",
    "FRACTION": "frac tfrac dfrac nicefrac",
    "BINOMIAL": "binom tbinom dbinom",
    "ROOT": "sqrt",
    "LANGLE": "langle",
    "RANGLE": "rangle",
    "LFLOOR": "lfloor",
    "RFLOOR": "rfloor",
    "LCEIL": "lceil",
    "RCEIL": "rceil",
    "LABS": "lvert",
    "RABS": "rvert",
    "LNORM": "lVert",
    "RNORM": "rVert",
    "BAR": "vert mid",
    "DOUBLEBAR": "Vert",
    "LSET": "lbrace",
    "RSET": "rbrace",
    "COLON": "colon",
    "ARG": "arg",
    "DERIVATIVE": "nabla partial",
}
COMMANDS: dict[str, str] = {
    **{word: kind for kind, words in _OPERATORS.items() for word in words.split()},
    **dict.fromkeys(GREEK, "GREEK"),
    **dict.fromkeys(ACCENTS, "ACCENT"),
}
"""Kinds of token by command."""

RELATIONS: dict[str, str] = {
    "<": "<",
    ">": ">",
    **dict.fromkeys((r"\le", r"\leq", r"\leqslant"), "<="),
    **dict.fromkeys((r"\ge", r"\geq", r"\geqslant"), ">="),
    **dict.fromkeys((r"\ne", r"\neq"), "!="),
    r"\lt": "<",
    r"\gt": ">",
    "=": "==",
}

TEXT: dict[str, str] = {
    **dict.fromkeys(("if", "for", "when"), "IF"),
    **dict.fromkeys(("otherwise", "else"), "OTHERWISE"),
    "or": "OR",
    "and": "AND",
    **dict.fromkeys(("where", "with"), "WHERE"),
}
"""Words of a text that have a meaning in formulas."""
