"""`qe completion`: print a script by which the shell completes verbs and options."""

from collections.abc import Iterator
from typing import Any

SHELLS = ("bash", "zsh")
# In zsh what reads scripts of bash needs the completion of zsh, which a plain shell has not begun.
_ZSH = """\
(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}
autoload -Uz bashcompinit && bashcompinit
{script}"""
_BASH = """\
_qe() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=""
    local path="${{COMP_WORDS[1]}} "
    [ "$COMP_CWORD" -gt 2 ] && path+="${{COMP_WORDS[2]}} "
    [ "$before" = "=" ] && before="${{COMP_WORDS[COMP_CWORD-2]}}"
    [ "$current" = "=" ] && current=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{verbs} --help --version"
    else
        case "$path" in
{cases}
        esac
        case "$current" in
            -*) ;;
            *) [ "$COMP_CWORD" -eq 2 ] && words="${{words%%--*}}" || words="" ;;
        esac
        case "$path$before" in
{values}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _qe qe
"""


def completion(shell: str = "bash") -> None:
    """Print a script that completes verbs, options and their choices in the shell.

    Files are completed as usual.

    Examples:

        qe completion bash > ~/.local/share/bash-completion/completions/qe

        echo 'source <(qe completion zsh)' >> ~/.zshrc

    arguments:
      shell bash|zsh  The shell.
    """
    from features.basics.errors import unknown_name

    if shell not in SHELLS:
        raise unknown_name("shell", shell, SHELLS)
    print(_script() if shell == "bash" else _ZSH.format(script=_script()), end="")


def _script() -> str:
    from qe.cli._verbs import commands, verbs

    pairs = [pair for verb in verbs() for pair in commands(verb)]
    below = {
        name: [other.split()[1] for other, _ in pairs if other.startswith(f"{name} ")] for name, _ in pairs
    }
    every = sorted(pairs, key=lambda pair: -pair[0].count(" "))
    cases = [f'"{name} "*) words="{" ".join([*below[name], *_words(one)])}" ;;' for name, one in every]
    values = [
        f'"{name} "*{option}) words="{" ".join(choices)}" ;;'
        for name, one in every
        for option, choices in _choices(one)
    ]
    return _BASH.format(
        verbs=" ".join(verbs()),
        cases="\n".join(f"            {case}" for case in cases),
        values="\n".join(f"            {value}" for value in values),
    )


def _words(command: Any) -> list[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [
        name for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("--")
    ]
    return [*(choice for one in arguments for choice in _values_of(one)), *options, "--help"]


def _choices(command: Any) -> Iterator[tuple[str, list[str]]]:
    for option in command.params:
        if option.param_type_name == "option" and (choices := _values_of(option)):
            yield from ((name, choices) for name in option.opts)


def _values_of(parameter: Any) -> list[str]:
    from qe.cli._help import names_in

    metavar = parameter.metavar or ""
    return metavar.split("|") if "|" in metavar else names_in(parameter.help or "")
