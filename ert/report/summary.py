"""The first thing one sees: the numbers that people ask for, each with its interval."""

from __future__ import annotations

from collections import Counter

from ert.ceilings.kinds import Ceiling
from ert.columns import intensity, interval, precision_name, roof_keys, roof_levels, share_of_limit, unit_of
from ert.report.content import Content
from ert.report.markup import Html, tag
from ert.units import with_prefix

# The precisions people ask for first; the others are in the table.
_ASKED_FOR = ("fp64", "fp32", "fp16", "bf16")
_MOST_RATES = 3


def summary_html(content: Content) -> Html:
    """A card each: slowest and fastest level, up to three rates, the ridge, the kernels, verdict and warnings."""
    ceilings, levels = content.ceilings, roof_levels(content.ceilings)
    cards = [_ceiling_card(f"{level} bandwidth", ceilings.bandwidth_roofs[level]) for level in dict.fromkeys([*levels[-1:], *levels[:1]])]
    keys = roof_keys(ceilings)
    asked = [key for key in keys if key[0] in _ASKED_FOR]
    # The tensor roofs are the higher ones, where a device has them: one of them must be among the three.
    chosen = sorted(asked, key=lambda key: (key[1] != "vector", _ASKED_FOR.index(key[0])))
    tensor = [key for key in chosen if key[1] == "tensor"][-1:]
    rates = [*[key for key in chosen if key not in tensor][: _MOST_RATES - len(tensor)], *tensor] or keys[:_MOST_RATES]
    cards += [_ceiling_card(f"{precision_name(*key)} rate", ceilings.compute_roofs[key]) for key in rates]
    if levels and rates:
        ridge = intensity(ceilings.ridge(levels[-1], *rates[0]))
        cards.append(_card(f"ridge, {precision_name(*rates[0])} at {levels[-1]}", f"{ridge} FLOP/B", "left of it bandwidth binds"))
    return tag("ul", *cards, *_kernel_cards(content), *_verdict_cards(content), cls="cards", aria_label="Key figures")


def _ceiling_card(what: str, c: Ceiling) -> Html:
    share = share_of_limit(c)
    return _card(what, with_prefix(c.value, unit_of(c)), f"95 %: {interval(c)}", f"{share} of the limit" if share else "")


def _kernel_cards(content: Content) -> list[Html]:
    if content.comparison is None:
        return []
    kernels = content.comparison.kernels
    bounds = Counter(k.bound.kind if k.bound else "open" for k in kernels)
    return [_card("kernels", str(len(kernels)), ", ".join(f"{count} {kind}" for kind, count in bounds.most_common()))]


def _verdict_cards(content: Content) -> list[Html]:
    cards = []
    if content.validation and content.validation.rows:
        cards.append(_card("spec sheet", content.validation.verdict, content.validation.spec or "against the theoretical peak"))
    if content.ceilings.warnings:
        count = len(content.ceilings.warnings)
        cards.append(_card("warnings", str(count), "see below"))
    return cards


def _card(what: str, value: str, *more: str) -> Html:
    lines = [tag("span", line, cls="more") for line in more if line]
    return tag("li", tag("span", what, cls="what"), tag("span", value, cls="value"), *lines)
