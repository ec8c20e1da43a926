r"""The entry point: commands, and what becomes of errors.

Exit codes: 0 all as expected, 1 some theorem not as expected, 2 bad use, 130 ended by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from lemmax._version import __version__
from lemmax.campaign.names import close_names
from lemmax.cli.catalogue import list_
from lemmax.cli.check import check
from lemmax.cli.codegen import codegen
from lemmax.cli.derive import derive
from lemmax.cli.export import export
from lemmax.cli.formula import formula
from lemmax.cli.screen import emit_json
from lemmax.errors import LemmaxError

AS_EXPECTED, NOT_AS_EXPECTED, BAD_USE, INTERRUPTED = 0, 1, 2, 130


class Commands(click.Group):
    """A group of commands that names the close ones when a command is not known."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; an unknown one is bad use."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            known = self.list_commands(ctx)
            close = close_names(word, known)
            hint = f"Did you mean {' or '.join(close)}?" if close else f"Commands: {', '.join(known)}."
            raise click.UsageError(f"There is no command {word}. {hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "terminal_width": 100},
    epilog="Exit codes: 0 all as expected, 1 some theorem not as expected, 2 bad use, 130 ended by Ctrl-C.",
)
@click.version_option(__version__, prog_name="lemmax")
def lemmax() -> None:
    """Derive gradients, generate code, check theorems and typeset derivations.

    A symbolic-numeric proof assistant for the calculus behind machine-learning theory.
    """


for command in (derive, codegen, formula, check, export, list_):
    lemmax.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: the words after ``lemmax``; default: those of this process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug, as_json = "--debug" in words, "--json" in words
    try:
        _refuse_blank(words)
        words = _with_formulas(words)
        code = lemmax.main(args=words, prog_name="lemmax", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _refuse(error, f"{_usage(error)}{error.format_message()}", debug, as_json)
    except (click.Abort, KeyboardInterrupt):
        print("\nInterrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader of our output has gone; what Python flushes at exit must go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_USE
    except (LemmaxError, OSError) as error:
        return _refuse(error, _message(error), debug, as_json)
    except Exception as error:  # a defect of ours: still one message, and the way to see where
        kind = type(error).__name__
        text = f"Something in lemmax broke: {kind}: {error}. Run again with --debug to see where."
        return _refuse(error, text, debug, as_json)
    return code if isinstance(code, int) else AS_EXPECTED


def _refuse_blank(words: Sequence[str]) -> None:
    """Refuse a blank word: mostly a shell variable that is not set, and as a path it would be this folder."""
    for position, word in enumerate(words):
        if not word.strip():
            before = f" after {words[position - 1]}" if position else ""
            raise click.UsageError(f"The word{before} is empty: is a variable of the shell not set?")


def _with_formulas(words: Sequence[str]) -> list[str]:
    """Keep a formula that begins with a minus from being taken for an option."""
    if words[:1] != ["formula"]:
        return list(words)
    return [f" {w}" if w.startswith("-") and not w.startswith("--") and w != "-h" else w for w in words]


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and not isinstance(error, LemmaxError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    # what a message tells to pass is an option here
    return str(error).replace("nonsmooth='subgradient'", "--nonsmooth subgradient")


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.get_usage()}\n" if context is not None else ""


def _refuse(error: Exception, text: str, debug: bool, as_json: bool) -> int:
    """Say what went wrong, once, and return the exit code of bad use."""
    if debug:
        traceback.print_exception(error)
    if as_json:
        emit_json({"error": type(error).__name__, "message": text, "exit_code": BAD_USE})
    else:
        print(f"error: {text}" if "\n" not in text else text, file=sys.stderr)
    return BAD_USE
