"""`qe completion`: print a script by which the shell completes verbs and options."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

SHELLS = ("bash", "zsh")
_BASH = """\
_qe() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" path="${{COMP_WORDS[1]}} " words=""
    [ "$COMP_CWORD" -gt 2 ] && path+="${{COMP_WORDS[2]}} "
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs}"
    else
        case "$path" in
{cases}
        esac
        case "$current" in
            -*) ;;
            *) [ "$COMP_CWORD" -eq 2 ] && words="${{words%%--*}}" || words="" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _qe qe
"""


def completion(
    shell: Annotated[str, typer.Argument(help="bash or zsh.")] = "bash",
) -> None:
    """Print a script by which the shell completes verbs and options; file names complete as ever.

    Examples:

        qe completion bash > ~/.local/share/bash-completion/completions/qe

        echo 'source <(qe completion zsh)' >> ~/.zshrc
    """
    from features.basics.errors import unknown_name

    if shell not in SHELLS:
        raise unknown_name("shell", shell, SHELLS)
    if shell == "zsh":
        typer.echo("autoload -U +X bashcompinit && bashcompinit")
    typer.echo(_script(), nl=False)


def _script() -> str:
    """For bash. A case for each subcommand, and then for each verb."""
    from qe.cli._verbs import command, verbs

    cases = [case for verb in verbs() for case in _cases(verb, command(verb))]
    rows = "\n".join(f'            "{pattern}"*) words="{words}" ;;' for pattern, words in cases)
    return _BASH.format(verbs=" ".join(verbs()), cases=rows)


def _cases(verb: str, command: Any) -> Iterator[tuple[str, str]]:
    """What the line begins with, and the words that can follow: subcommands before options."""
    inner = getattr(command, "commands", {})
    for name, subcommand in inner.items():
        yield f"{verb} {name} ", " ".join(_options(subcommand))
    yield f"{verb} ", " ".join([*inner, *_options(command)])


def _options(command: Any) -> list[str]:
    names = [name for option in command.params for name in (*option.opts, *option.secondary_opts)]
    return [*(name for name in names if name.startswith("--")), "--help"]
