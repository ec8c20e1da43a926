r"""The table of functions that matrix notation knows: see ``applied`` for what a row says."""

from __future__ import annotations

from lemmax.expr.domains import ON_DOMAIN
from lemmax.typeset import applied, shapes
from lemmax.typeset.applied import Row

TABLE: dict[str, Row] = {
    "softmax": Row(applied.all_but_axis, applied.read_softmax),
    "softmax_pullback": Row(applied.all_but_axis, applied.read_softmax_pullback),
    "argmax_mask": Row(applied.all_but_axis, applied.read_argument_mask),
    "argmin_mask": Row(applied.all_but_axis, applied.read_argument_mask),
    **dict.fromkeys(
        ("max", "min", "prod", "logsumexp"),
        Row(lambda t, slot: applied.result_axes(t), applied.read_reduction),
    ),
    **dict.fromkeys(
        (
            "rank",
            "sigma",
            "sigma_min",
            "spectral_norm",
            "nuclear_norm",
            "cond",
            "lambda_min",
            "lambda_max",
            "det",
            "logdet",
        ),
        Row(applied.leading_axes, applied.read_functional, one_per_matrix=True),
    ),
    "inv": Row(applied.leading_axes, applied.read_inverse),
    **dict.fromkeys(
        ("pinv", "matrix_power", "singular_dyad", "eigen_projector", "polar"),
        Row(applied.leading_axes, applied.read_matrix),
    ),
    "power_derivative": Row(applied.leading_axes, applied.read_power_derivative),
    **dict.fromkeys(("cofactors", "solve"), Row(applied.leading_axes, applied.read_by_definition)),
    ON_DOMAIN: Row(lambda t, slot: {} if slot else {p: p for p in range(t.ndim)}, applied.read_on_domain),
    "hull_distance": Row(lambda t, slot: {}, applied.read_hull_distance, one_per_matrix=True),
    "concat": Row(lambda t, slot: {p: p for p in range(t.ndim) if p != t.param("axis")}, shapes.read_concat),
    "slice": Row(shapes.all_axes, shapes.read_slice),
    "place": Row(shapes.all_axes, shapes.read_place),
    "merge": Row(shapes.merged_axes, shapes.read_merge),
    "split": Row(shapes.split_axes, shapes.read_split),
}
"""One row per function; a function without a row raises ``MissingRule``."""
