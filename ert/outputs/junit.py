"""JUnit XML: a suite per device, a case per ceiling. A loss is a failure; what cannot be judged is skipped."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from ert.history import Check
from ert.history_events import DeviceAnswer, Event, summary
from ert.units import with_prefix

# XML 1.0 has no place for these, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SKIPPED = ("throttled", "no_data", "environment_change")


def junit_xml(check: Check) -> str:
    """The document, as Jenkins and GitLab read it."""
    root = ET.Element("testsuites", name="ert nightly")
    for answer in check.answers:
        root.append(_suite(check, answer))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(check: Check, answer: DeviceAnswer) -> ET.Element:
    events = [e for e in check.events if (e.host, e.device, e.date) == (answer.host, answer.device, check.night)]
    readings = {r.ceiling: r for r in check.readings if (r.host, r.device) == (answer.host, answer.device)}
    names = [*readings, *dict.fromkeys(e.ceiling for e in events if e.ceiling and e.ceiling not in readings)]
    cases = [_case("device", answer, None, [event for event in events if event.ceiling is None])]
    for name in names:
        reading = readings.get(name)
        text = f"{with_prefix(reading.value, reading.unit)}" if reading else None
        if reading and reading.baseline:
            text = f"{text}, baseline {with_prefix(reading.baseline, reading.unit)}"
        cases.append(_case(name, answer, text, [event for event in events if event.ceiling == name]))
    count = Counter(child.tag for case in cases for child in case)
    suite = ET.Element(
        "testsuite",
        name=_clean(f"{answer.host} {answer.device}"),
        hostname=_clean(answer.host),
        timestamp=(answer.measured or f"{answer.night}T00:00:00Z").removesuffix("Z"),
        tests=str(len(cases)),
        failures=str(count["failure"]),
        errors="0",
        skipped=str(count["skipped"]),
    )
    suite.extend(cases)
    return suite


def _case(name: str, answer: DeviceAnswer, text: str | None, events: list[Event]) -> ET.Element:
    case = ET.Element("testcase", name=_clean(name), classname=_clean(f"ert.{answer.host}.{answer.device}"), time="0")
    alarms = [event for event in events if event.is_alarm]
    skips = [event for event in events if event.kind in _SKIPPED]
    if alarms:
        failure = ET.SubElement(case, "failure", type=alarms[0].kind, message=_clean("; ".join(map(summary, alarms))))
        failure.text = _clean("\n".join(event.note for event in alarms))
    elif skips:
        ET.SubElement(case, "skipped", message=_clean("; ".join(map(summary, skips))))
    lines = [*([text] if text else []), *(f"{summary(event)}: {event.note}" for event in events if event not in alarms)]
    if lines:
        ET.SubElement(case, "system-out").text = _clean("\n".join(lines))
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
