"""``ert doctor``: what is installed, what is missing, and what disturbs the machine."""

from __future__ import annotations

import click

from ert.cli.output import json_option, stdout_console, write_json
from ert.doctor.report import doctor_document, doctor_report, examine
from ert.files import dump_json


@click.command(epilog="\b\nExamples:\n  ert doctor\n  ert doctor --json - | jq '.facts[] | select(.status != \"ok\")'")
@json_option
def doctor(json_path: str | None) -> None:
    """Say what is installed, what is missing and how to get it, and what would disturb a sweep right now.

    Takes about two seconds. ok: as it should be; note: worth knowing; problem: a sweep fails, or its numbers are wrong, until it is
    remedied. The exit status is 0 in any case; --json is for programs that want to judge.
    """
    found = examine()
    if json_path:
        write_json(dump_json(doctor_document(found)), json_path)
    if json_path != "-":
        stdout_console().print(doctor_report(found))
