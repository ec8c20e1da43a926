r"""Attention losses, written with the public builders; nothing else in lemmax knows them."""

from __future__ import annotations

from lemmax.models.attention import AttentionModel, attention
from lemmax.models.classifier import ClassifierModel, attention_classifier

MODELS = {
    "softmax-attention": lambda: attention("softmax"),
    "softmax-attention-causal": lambda: attention("softmax", mask="causal"),
    "gaussian-attention": lambda: attention("gaussian"),
    "gaussian-attention-causal": lambda: attention("gaussian", mask="causal"),
    "attention-classifier": lambda: attention_classifier("separate"),
    "attention-classifier-combined": lambda: attention_classifier("combined"),
    "attention-classifier-diagonal": lambda: attention_classifier("diagonal"),
}
"""Models by the name under which the command line knows them."""

__all__ = ["MODELS", "AttentionModel", "ClassifierModel", "attention", "attention_classifier"]
