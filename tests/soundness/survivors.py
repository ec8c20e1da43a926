"""Mechanical variants of theorems that no check can refute, each with the reason: they are true as well."""

from __future__ import annotations

SIGN = "weaker: the side that changed its sign was never negative and is now never positive"
NEXT = "weaker: the next singular value is smaller (0 beyond the smaller side), and so is the bound"
LARGEST = "weaker: the largest singular value takes the place of the smallest on the larger side"
NO_CONSTANT = "still true: without the hypothesis a singular value in the bound may be 0, and so is the bound"
NO_RATE = "still true: without the hypothesis mu may be 0, and the rate 1 says that the loss does not grow"
RANK = "still true: the rank that another hypothesis asks for implies the size constraint"
SYMMETRIC = "still true: both sides are symmetric matrices"
ITSELF = "still true: the two sides are one another's transposes, so this says that a matrix is itself"
ANY_T = "still true: the theorem speaks of all such T, and the transpose of one is another"
UNDEFINED = "still true: where the hypothesis fails, the claim divides by 0 and says nothing"

SURVIVORS: dict[str, dict[str, str]] = {
    "feature_perturbation_of_query_key_change_gaussian": {
        "smallest singular value: largest singular value of B'": LARGEST,
        "smallest singular value: next singular value of B": NEXT,
    },
    "feature_perturbation_of_query_key_change_softmax": {
        "smallest singular value: largest singular value of B'": LARGEST,
        "smallest singular value: next singular value of B": NEXT,
    },
    "full_row_rank_of_generic_weights_gaussian": {"dropped: N*n <= D": RANK},
    "full_row_rank_of_generic_weights_softmax": {"dropped: N*n <= D": RANK},
    "full_row_rank_of_invertible_attention_gaussian": {
        "smallest singular value: sign": SIGN,
        "smallest singular value: largest singular value of B": LARGEST,
        "smallest singular value: next singular value of a matrix (N*n, D)": NEXT,
        "dropped: N*n <= D": RANK,
    },
    "full_row_rank_of_invertible_attention_softmax": {
        "smallest singular value: sign": SIGN,
        "smallest singular value: largest singular value of B": LARGEST,
        "smallest singular value: next singular value of a matrix (N*n, D)": NEXT,
        "dropped: N*n <= D": RANK,
    },
    "invariant_loss_of_query_key_scaling_softmax": {
        "attention: transpose of T": ANY_T,
        "loss: transpose of T": ANY_T,
        "dropped: invertible T": UNDEFINED,
    },
    "invertible_attention_of_tied_projections_gaussian": {"symmetric: transpose": ITSELF},
    "key_query_balance_of_gradient_flow_classifier": {"one step of descent: transpose": SYMMETRIC},
    "linear_rate_value_weights_of_full_row_rank": {
        "dropped: full row rank": NO_RATE,
        "dropped: every output head has rank m": NO_RATE,
        "dropped: N*n <= D*H": RANK,
        "dropped: m <= v": RANK,
    },
    "loss_floor_of_value_hulls_softmax": {"claim: sign": SIGN},
    "loss_floor_of_value_zonotopes_gaussian": {
        "loss floor: sign": SIGN,
        "no higher than the softmax floor: sign": SIGN,
    },
    "pl_dense_value_weights_of_full_row_rank": {
        "claim: sign": SIGN,
        "claim: next singular value of W^O": NEXT,
        "claim: next singular value of B": NEXT,
        "dropped: full row rank": NO_CONSTANT,
        "dropped: output of rank m": NO_CONSTANT,
        "dropped: N*n <= D*H": RANK,
        "dropped: m <= H*v": RANK,
    },
    "pl_output_weights_of_full_row_rank": {
        "claim: sign": SIGN,
        "claim: next singular value of C": NEXT,
        "dropped: full row rank": NO_CONSTANT,
        "dropped: N*n <= H*v": RANK,
    },
    "pl_query_weights_of_independent_tokens_gaussian": {
        "claim: sign": SIGN,
        "claim: next singular value of a matrix (N*n, D)": NEXT,
        "claim: next singular value of a matrix (N, n, H*d, m)": NEXT,
        "dropped: independent tokens": NO_CONSTANT,
        "dropped: sensitive outputs": NO_CONSTANT,
        "dropped: N*n <= D": RANK,
        "dropped: m <= H*d": RANK,
    },
    "pl_query_weights_of_independent_tokens_softmax": {
        "claim: sign": SIGN,
        "claim: next singular value of a matrix (N*n, D)": NEXT,
        "claim: next singular value of a matrix (N, n, H*d, m)": NEXT,
        "dropped: independent tokens": NO_CONSTANT,
        "dropped: sensitive outputs": NO_CONSTANT,
        "dropped: N*n <= D": RANK,
        "dropped: m <= H*d": RANK,
    },
    "pl_value_weights_of_full_row_rank": {
        "claim: sign": SIGN,
        "claim: next singular value of B": NEXT,
        "claim: next singular value of W^O": NEXT,
        "dropped: B has full row rank": NO_CONSTANT,
        "dropped: every output head has rank m": NO_CONSTANT,
        "dropped: N*n <= D*H": RANK,
        "dropped: v >= m": RANK,
    },
    "query_key_balance_of_rotation_symmetry_gaussian": {
        "symmetric sum: transpose": ITSELF,
        "rotated loss: transpose of T": ANY_T,
    },
    "query_key_balance_of_scaling_symmetry_softmax": {"one step of descent: transpose": SYMMETRIC},
    "value_gradient_bound_of_feature_and_output_norms": {"dropped: heads in use": UNDEFINED},
    "value_output_balance_of_scaling_symmetry_gaussian": {"one step of descent: transpose": SYMMETRIC},
    "value_output_balance_of_scaling_symmetry_softmax": {"one step of descent: transpose": SYMMETRIC},
}
"""Reason by theorem and variant."""
