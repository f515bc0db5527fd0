"""`compass completion SHELL`: what lets a shell complete commands, options and session ids.

The shell's part is small: it asks `compass completion --words …` for what fits, so that it knows
the sessions that are there now and never falls behind the command.
"""

from __future__ import annotations

__all__ = ("HELP", "NAME", "add_arguments", "run")

import argparse
import importlib
import itertools
import sys
from typing import TYPE_CHECKING, Any

from compass_agent.cli.exits import EXIT_OK, EXIT_USAGE, CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    _Fits = Iterable[tuple[str, str]]

NAME = "completion"
HELP = "print the completion of a shell"

_ASK_S = 2.0
_NO_FILES = 1  # exit status: nothing fits, and no file does
_LOGS = ("sqlite:", "unix:", "grpc://")
_KIND_DESTS = {"kind", "not_kind", "fail_on"}

_SCRIPTS = {
    "bash": r"""# bash completion of compass; to use it: eval "$(compass completion bash)"
_compass() {
    local line=${COMP_LINE:0:COMP_POINT} current reply rest cut replies
    local -a words
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]}-1]}
    COMPREPLY=()
    replies=$("${words[0]}" completion --words "${words[@]:1}" 2>/dev/null) ||
        compopt +o default 2>/dev/null
    while IFS=$'\t' read -r reply rest; do
        [[ -n $reply ]] && COMPREPLY+=("$reply")
    done <<< "$replies"
    # bash takes what stands before a colon, or an equals sign, for a word of its own.
    if [[ $current == *[:=]* && $COMP_WORDBREAKS == *:* ]]; then
        cut=${current%"${current##*[:=]}"}
        COMPREPLY=("${COMPREPLY[@]#"$cut"}")
    fi
}
complete -o default -F _compass compass
""",
    "zsh": r"""#compdef compass
# zsh completion of compass; to use it: source <(compass completion zsh)
_compass() {
    local -a replies
    local reply rest found files=1
    found=$("${words[1]}" completion --words "${(@)words[2,CURRENT]}" 2>/dev/null) || files=0
    while IFS=$'\t' read -r reply rest; do
        [[ -n $reply ]] && replies+=("${reply//:/\\:}:${rest}")
    done <<< "$found"
    if (( ${#replies} )); then
        _describe compass replies
    elif (( files )); then
        _files
    fi
}
if [[ ${funcstack[1]} == _compass ]]; then
    _compass "$@"
else
    compdef _compass compass
fi
""",
    "fish": r"""# fish completion of compass; to use it: compass completion fish | source
function __compass_words
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found (compass completion --words $before[2..] "$current" 2>/dev/null)
    set -l files $status
    if test (count $found) -gt 0
        printf '%s\n' $found
    else if test $files -eq 0
        __fish_complete_path "$current"
    end
end
complete -c compass -f -a '(__compass_words)'
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command to `parser`."""
    parser.add_argument("shell", nargs="?", choices=tuple(_SCRIPTS), help="the shell")
    parser.add_argument("--words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    """Print the script of a shell, or what fits behind the words of a command line.

    Raises:
        CommandError: No shell was named.
    """
    if options.words is not None:
        words: list[str] = options.words or [""]
        fits = [(word, told) for word, told in _fits(words) if word.startswith(words[-1])]
        sys.stdout.write("".join(f"{word}\t{told}\n" for word, told in fits))
        return EXIT_OK if fits or _takes_file(words) else _NO_FILES
    if options.shell is None:
        raise CommandError(f"which shell? One of {', '.join(_SCRIPTS)}", EXIT_USAGE)
    sys.stdout.write(_SCRIPTS[options.shell])
    return EXIT_OK


def _fits(words: list[str]) -> _Fits:
    from compass_agent.cli import COMMANDS  # noqa: PLC0415 - the package imports this module

    *before, current = words
    name, equals, _ = current.partition("=")
    if before and equals and name.startswith("--"):
        return [(f"{name}={value}", told) for value, told in _fits([*before, name, ""])]
    if not before:
        return [*COMMANDS.items(), ("--help", ""), ("--version", "")]
    if before[0] not in COMMANDS:
        return []
    parser = _parser(before)
    asked = _option(parser, before[-1])
    if asked is not None and asked.nargs is None and asked.const is None:
        return _values(asked)
    if current.startswith("-"):
        return list(_options(parser))
    return list(_places(parser, before))


def _takes_file(words: list[str]) -> bool:
    """Tell whether a file's name fits: it does unless an option wants something else."""
    from compass_agent.cli import COMMANDS  # noqa: PLC0415 - the package imports this module

    *before, current = words
    name, equals, _ = current.partition("=")
    if equals and name.startswith("--"):
        before.append(name)
    if len(before) < 2 or before[0] not in COMMANDS:  # noqa: PLR2004 - a command and an option
        return True
    asked = _option(_parser(before), before[-1])
    if asked is None or asked.nargs is not None or asked.const is not None:
        return True
    return asked.dest == "log" or "file" in asked.dest


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=True, allow_abbrev=False)
    importlib.import_module(f"compass_agent.cli.{words[0]}").add_arguments(parser)
    for word in words[1:]:
        for action in _actions(parser):
            if action.nargs == argparse.PARSER:
                below: Any = action.choices
                found: object = below.get(word)
                parser = found if isinstance(found, argparse.ArgumentParser) else parser
    return parser


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other way to list them


def _option(parser: argparse.ArgumentParser, word: str) -> argparse.Action | None:
    return next((one for one in _actions(parser) if word in one.option_strings), None)


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in _actions(parser):
        if action.help != argparse.SUPPRESS:
            for name in action.option_strings:
                if name.startswith("--"):
                    yield name, (action.help or "").replace("\n", " ")


def _values(action: argparse.Action) -> _Fits:
    if action.choices is not None:
        return [(str(choice), "") for choice in action.choices]
    if action.dest == "log":
        return [(scheme, "") for scheme in _LOGS]
    if action.dest in _KIND_DESTS:
        from compass_agent.cli.tail import LISTS  # noqa: PLC0415 - only for this

        return [(name, "") for name in LISTS[action.dest]]
    return []


def _places(parser: argparse.ArgumentParser, before: list[str]) -> Iterator[tuple[str, str]]:
    for action in _actions(parser):
        if action.option_strings:
            continue
        if action.dest in {"session", "sessions"}:
            yield from _sessions(before)
        elif action.choices is not None:
            yield from ((str(choice), "") for choice in action.choices)


def _sessions(before: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the sessions that are there now; a log that cannot be read has none to offer."""
    import anyio  # noqa: PLC0415 - dear to import

    from compass_agent.errors.codes import OperationError  # noqa: PLC0415 - likewise
    from compass_agent.services.sessions import SessionRow, list_sessions  # noqa: PLC0415 - likewise
    from compass_agent.view.neutralise import one_line  # noqa: PLC0415 - likewise
    from compass_agent.view.words import state_word  # noqa: PLC0415 - likewise

    async def rows() -> list[SessionRow]:
        from compass_agent.cli.options import log_exists, open_reading  # noqa: PLC0415 - likewise

        pairs = itertools.pairwise(before)
        url = next((value for name, value in pairs if name == "--log"), None)
        found: list[SessionRow] = []
        if not log_exists(url):
            return found
        with anyio.move_on_after(_ASK_S):
            async with open_reading(url) as log:
                found = await list_sessions(log)
        return found

    try:
        for row in anyio.run(rows):
            cause = f": {row.cause.title}" if row.cause is not None else ""
            told = f"{state_word(row.summary.state)}{cause} {row.summary.title}"
            yield one_line(row.summary.session), one_line(told).strip()
    except (CommandError, OperationError):
        return
    yield "@last", "the session that was updated last"
