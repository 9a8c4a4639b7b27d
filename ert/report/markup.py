"""HTML that cannot be injected into: text is escaped unless it was built here."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

# Elements without an end tag; in SVG the slash is what closes them.
_VOID = {"input", "br", "meta", "line", "path"}


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


EMPTY = Html("")


def tag(name: str, /, *content: str, **attributes: str | int | float | bool | None) -> Html:
    """``tag("td", "a < b", cls="number", data_sort=3)`` -> ``<td class="number" data-sort="3">a &lt; b</td>``.

    Content that is no Html is escaped. ``cls`` is class, ``html_for`` is for, other underscores are hyphens;
    True is an attribute without a value, False and None are none.
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None and value is not False)
    if name in _VOID:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{joined(content)}</{name}>")


def _attribute(key: str, value: str | int | float | bool) -> str:
    name = {"cls": "class", "html_for": "for"}.get(key, key.replace("_", "-"))
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def joined(parts: Iterable[str], separator: str = "") -> Html:
    """The parts one after the other, each escaped unless it is Html."""
    return Html(separator.join(part if isinstance(part, Html) else escape(part) for part in parts))


def hover(*lines: str, title: str = "") -> str:
    """Lines of a plotly hover label, which understands a few tags: everything is escaped, the title is bold."""
    escaped = [escape(line, quote=False) for line in lines if line]
    return "<br>".join([f"<b>{escape(title, quote=False)}</b>", *escaped] if title else escaped)
