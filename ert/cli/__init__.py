"""The command line: the only place where an error becomes an exit code.

Commands are imported when they are called, so that ``ert --help`` stays fast; one line each in COMMANDS.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from ert import __version__
from ert.errors import BusyError, ErtError, SchemaError, UsageError

# name -> (module:function, the line shown in `ert --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "devices": ("ert.cli.devices:devices", "List every device ert could sweep."),
    "sweep": ("ert.cli.sweep:sweep", "Measure a device and write its ceilings."),
    "show": ("ert.cli.show:show", "Print the table of a ceilings file again."),
    "fit": ("ert.cli.fit:fit", "Fit levels and ceilings to a file of measured points."),
    "plot": ("ert.cli.plot:plot", "Draw the roofline of a ceilings file."),
    "compare": ("ert.cli.compare:compare", "Place application kernels under the measured roof."),
    "validate": ("ert.cli.validate:validate", "Compare measured ceilings with the vendor's sheet and the theoretical peak."),
    "specs": ("ert.cli.specs:specs", "List the spec sheets, their sources and their ridge points."),
    "analyze": ("ert.cli.analyze:analyze", "Place a hand-computed point or a known operation under the roof."),
    "run": ("ert.cli.run:run", "Measure AXPY, vector add or GEMM and place it on the roof."),
    "report": ("ert.cli.report:report", "Write an interactive HTML report of ceilings and kernels."),
    "diff": ("ert.cli.diff:diff", "Compare two ceilings files, ceiling by ceiling."),
    "nightly": ("ert.cli.nightly:nightly", "Measure, store and judge a device, every night."),
    "history": ("ert.cli.history:history", "Look at the store of nights: list, show, check, baseline, fleet."),
    "export": ("ert.cli.export:export", "Write ceilings for another tool."),
    "kernels": ("ert.cli.kernels:kernels", "List the kernels, or verify them against compiled code."),
    "doctor": ("ert.cli.doctor:doctor", "Say what is installed, what is missing and what disturbs the machine."),
    "completion": ("ert.cli.completion:completion", "Print the completion script of a shell."),
}


class CheckedGroup(click.Group):
    """A group that looks at the words of a command before it runs, and at the files it was given when it fails."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if ctx.resilient_parsing:  # a shell completes what is not yet a whole line
            return super().resolve_command(ctx, args)
        if args[0] not in self.list_commands(ctx):
            from ert.suggest import nearest  # noqa: PLC0415  (only when the name is wrong)

            near = nearest(args[0], self.list_commands(ctx))
            raise click.UsageError(f"No such command '{args[0]}'.{near} `{ctx.command_path} --help` lists them.", ctx)
        name, command, words = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            from ert.cli.words import check_words, read_words  # noqa: PLC0415  (`ert --help` needs neither)

            ctx.meta[__name__] = given = read_words(command, name, words, ctx)
            if not set(words) & set(ctx.help_option_names):
                check_words(given)
        return name, command, words

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError:
            raise
        except ErtError as error:
            from ert.cli.inputs import other_kind  # noqa: PLC0415  (only when something went wrong)

            wrong = other_kind(ctx.meta.pop(__name__, None), str(error))
            if wrong is None:
                raise
            raise SchemaError(wrong) from error


class LazyGroup(CheckedGroup):
    """A group that knows its commands' names and help, and imports one only when it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ErtError, OSError):
            if ctx.params["debug"]:
                traceback.print_exc()
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        # Not click's own, which would import every command at every press of the key.
        names = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ert")
@click.option("--debug", is_flag=True, help="Before the message of an error, show where in the program it arose.")
def cli(*, debug: bool) -> None:
    """Measure the roofline a machine really reaches, and judge everything else against it.

    \b
    Examples:
      ert sweep  # measure the first usable device
      ert show results/cpu/20261201T020000Z.json
    """


def exit_code(error: ErtError) -> int:
    """2 for what is wrong in the command line whatever the files and the machine hold, 4 for what another time may change, else 1."""
    return 2 if isinstance(error, UsageError) else 4 if isinstance(error, BusyError) else 1


def execute(command: Callable[..., Any], arguments: list[str] | None = None) -> int:  # noqa: PLR0911  (one return per kind of outcome)
    """Run a click command; every outcome becomes an exit code and at most one message on stderr."""
    try:
        returned = command(args=arguments, prog_name="ert", standalone_mode=False)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ErtError as error:
        click.echo(f"Error: {error}", err=True)
        return exit_code(error)
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted.", err=True)
        return 130
    except BrokenPipeError:
        # The reader of stdout left (`ert show | head`): no error of ours, and nothing left to flush into.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        from ert.files import write_remedy  # noqa: PLC0415  (only when something went wrong)

        click.echo(f"Error: {error.filename or 'standard output'}: {error.strerror}. {write_remedy(error)}", err=True)
        return 1
    except (MemoryError, RuntimeError) as error:
        # Python has no class of its own for the second.
        lacking = "memory" if isinstance(error, MemoryError) else "threads" if "start new thread" in str(error) else None
        if lacking is None:
            raise
        click.echo(f"Error: the system gives no {lacking}. See `ulimit -v`, `ulimit -u`, the limits of the job or container.", err=True)
        return 1
    # Outside of its standalone mode click hands the code of `ctx.exit` back instead of raising.
    return returned if isinstance(returned, int) else 0


def _open_closed_streams() -> None:
    """A caller may close stdin, stdout or stderr (``>&-``): Python then has None in their place, and every reader would trip over it."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  (open for the life of the process)


def main() -> None:
    """Entry point of the ``ert`` program."""
    _open_closed_streams()
    sys.exit(execute(cli))
