"""``ert completion``: the script that lets a shell complete commands, options, formats and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
# Where click looks for a request to complete.
VARIABLE = "_ERT_COMPLETE"


@click.command(
    epilog="\b\nExamples:\n"
    "  ert completion bash > ~/.local/share/bash-completion/completions/ert\n"
    "  ert completion zsh > ~/.zfunc/_ert\n"
    "  ert completion fish > ~/.config/fish/completions/ert.fish"
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL: save it where the shell looks for completions, and start a new shell."""
    made = get_completion_class(shell)
    assert made is not None  # SHELLS are those that click brings
    click.echo(made(ctx.find_root().command, {}, "ert", VARIABLE).source())
