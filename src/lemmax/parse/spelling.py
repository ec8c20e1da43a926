r"""Letters side by side that may spell a name: ``WQ`` is W times Q, or the tensor called WQ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lemmax.parse import records as r
from lemmax.parse.context import Context
from lemmax.parse.failure import Failure
from lemmax.parse.names import Key

_LONGEST = 24


def join_letters(ctx: Context, factors: Sequence[r.Part]) -> list[r.Part]:
    """Return factors with letters joined to names where such were given.

    Raises:
        Failure: the letters can be read in several ways.
    """
    done: list[r.Part] = []
    position = 0
    while position < len(factors):
        run = _run(factors, position)
        if len(run) > 1:
            done += _spelled(ctx, run)
        else:
            done += run
        position += len(run)
    return done


def _run(factors: Sequence[r.Part], start: int) -> list[r.Part]:
    """Return letters without anything between them; the last one may have scripts."""
    run = [factors[start]]
    while isinstance(run[-1], r.Symbol) and len(run[-1].text) == 1 and start + len(run) < len(factors):
        following = factors[start + len(run)]
        if _letter(following) is None or following.span[0] != run[-1].span[1]:
            break
        run.append(following)
    return run


def _letter(part: r.Part) -> str | None:
    base = part.base if isinstance(part, r.Scripted) else part
    return base.text if isinstance(base, r.Symbol) and len(base.text) == 1 else None


def _spelled(ctx: Context, run: list[r.Part]) -> list[r.Part]:
    letters = "".join(_letter(p) or "" for p in run)
    words = {
        letters[a:b] for a in range(len(letters)) for b in range(a + 2, min(len(letters), a + _LONGEST) + 1)
    }
    strong = {w for w in words if w in ctx.names.by_base}
    weak = {w for w in words - strong if ctx.names.spelled(w)}
    if not strong and not weak:
        return run
    known = {c for c in letters if _is_known(ctx, c)}
    ways = list(_ways(letters, known | strong, 3)) or list(_ways(letters, known | strong | weak, 3))
    if len(ways) > 1:
        start, end = run[0].span[0], run[-1].span[1]
        raise Failure(
            (start, end),
            f"{ctx.source[start:end]} can be one name or a product; blanks between factors tell them apart.",
            [" times ".join(way) for way in ways],
        )
    return _cut(run, ways[0]) if ways else run


def _is_known(ctx: Context, letter: str) -> bool:
    known = bool(ctx.names.carried_by(letter)[0]) or ctx.names.size(Key(letter)) is not None
    return known or ctx.letter(letter) is not None or letter in ("e", "I")


def _ways(letters: str, pieces: set[str], most: int) -> Iterator[list[str]]:
    """Yield ways to cut letters into pieces, ``most`` at most."""
    reach = [False] * len(letters) + [True]  # can the rest from here be cut?
    for start in range(len(letters) - 1, -1, -1):
        ends = range(start + 1, min(len(letters), start + _LONGEST) + 1)
        reach[start] = any(reach[end] and letters[start:end] in pieces for end in ends)
    stack: list[tuple[int, list[str]]] = [(0, [])]
    found = 0
    while stack and found < most:
        start, way = stack.pop()
        if start == len(letters):
            found += 1
            yield way
            continue
        for end in range(start + 1, min(len(letters), start + _LONGEST) + 1):
            if reach[end] and letters[start:end] in pieces:
                stack.append((end, [*way, letters[start:end]]))


def _cut(run: list[r.Part], way: list[str]) -> list[r.Part]:
    found: list[r.Part] = []
    position = 0
    for piece in way:
        parts = run[position : position + len(piece)]
        position += len(piece)
        last = parts[-1]
        if len(parts) == 1:
            found.append(last)
            continue
        start = parts[0].span[0]
        end = last.base.span[1] if isinstance(last, r.Scripted) else last.span[1]
        word: r.Part = r.Symbol((start, end), 1, piece)
        if isinstance(last, r.Scripted):
            word = r.Scripted(
                (start, last.span[1]),
                2,
                word,
                last.sub,
                last.sup,
                last.primes,
                last.sub_span,
                last.sup_span,
            )
        found.append(word)
    return found
