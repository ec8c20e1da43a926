r"""Products :math:`A A^+` and :math:`A^+ A`, which are symmetric: one way to write them inside a word.

A chain can be read from both ends.  It is read so that the names of its letters come in the smaller order,
with a product of a matrix and its pseudo-inverse counted as one symmetric letter; then each such product is
written as :math:`A A^+` (or :math:`A^+ A`), never as its transpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lemmax.calculus.rewriting.words import Alphabet, Path, Word


def canonical(
    path: Path, pairs: Mapping[Word, Word], alphabet: Alphabet, ends: tuple[str, str] | None
) -> tuple[bool, Word] | None:
    """Return how a chain is written if not as it is: from the other end or not, and the word.

    Args:
        path: the chain.
        pairs: for each symmetric product of two letters, both ways to write it, with the chosen one.
        alphabet: the letters.
        ends: texts by which the ends of a chain are told apart that reads the same from both.
    """
    words = [path.word, alphabet.turned(path.word)]
    if path.cycle:  # from where most products are whole
        turns = range(len(path.word))
        words = [
            min((w[t:] + w[:t] for t in turns), key=lambda v: (len(k := _tokens(v, pairs)), k)) for w in words
        ]
    keys = [_tokens(word, pairs) for word in words]
    back = keys[1] < keys[0]
    if keys[0] == keys[1]:
        if path.cycle or ends is None or ends[0] == ends[1]:
            return None
        back = ends[1] < ends[0]
    chosen = _written(words[back], pairs)
    return (back, chosen) if chosen != words[back] else None


def _parts(word: Word, pairs: Mapping[Word, Word]) -> list[Word]:
    parts, at = [], 0
    while at < len(word):
        length = 2 if word[at : at + 2] in pairs else 1
        parts.append(word[at : at + length])
        at += length
    return parts


def _tokens(word: Word, pairs: Mapping[Word, Word]) -> list[tuple[str, bool]]:
    return [
        ("|".join(name for name, _ in pairs[part]), False) if part in pairs else part[0]
        for part in _parts(word, pairs)
    ]


def _written(word: Word, pairs: Mapping[Word, Word]) -> Word:
    return tuple(letter for part in _parts(word, pairs) for letter in pairs.get(part, part))
