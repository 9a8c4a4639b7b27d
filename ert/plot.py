"""A roofline as a picture file, in the format its name asks for. Importing this is cheap; drawing loads matplotlib."""

from __future__ import annotations

import io
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ert.ceilings import Ceilings
from ert.errors import ConfigError
from ert.files import StrPath, write_bytes_atomic
from ert.home import home_folder

if TYPE_CHECKING:
    from ert.plot_points import PlotKernels

FORMATS = ("png", "svg", "pdf")
# No picture but an interactive page, which ert.report draws.
PAGE = "html"
_DPI = 200


def plot_format(path: StrPath) -> str:
    """The format a file's suffix asks for. Raises ConfigError naming the known suffixes."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in (*FORMATS, PAGE):
        known = ", ".join(f".{name}" for name in (*FORMATS, PAGE))
        raise ConfigError(f"{path}: a picture cannot be drawn as '{'.' + suffix if suffix else 'a file without suffix'}'. Known: {known}.")
    return suffix


def save_roofline(ceilings: Ceilings, path: StrPath, *, rounded: bool = False, kernels: PlotKernels | None = None) -> None:
    """Draw the roofline of ``ceilings`` into ``path`` (.png, .svg or .pdf), whole or not at all.

    The same ceilings give the same bytes. ``rounded`` adds the measured corners, ``kernels`` replace the sweep's own points.
    Raises ConfigError for another suffix, AnalysisError if there is nothing to draw, ErtError if it cannot be written.
    """
    write_bytes_atomic(path, render_roofline(ceilings, plot_format(path), rounded=rounded, kernels=kernels))


def render_roofline(ceilings: Ceilings, file_format: str, *, rounded: bool = False, kernels: PlotKernels | None = None) -> bytes:
    """The bytes of the picture in one of FORMATS; errors as in ``save_roofline``."""
    with _quiet_matplotlib():
        from ert.figure import draw_roofline, own_settings  # noqa: PLC0415  (loads matplotlib)

        figure = draw_roofline(ceilings, rounded=rounded, kernels=kernels)
        buffer = io.BytesIO()
        with own_settings():
            figure.savefig(buffer, format=file_format, dpi=_DPI, metadata=_metadata(ceilings, file_format))
    return buffer.getvalue()


def _metadata(ceilings: Ceilings, file_format: str) -> dict[str, str | None]:
    """Title and writer of the picture; no date of drawing, which would make every copy differ."""
    title, writer = str(ceilings.device.get("name", "roofline")), f"{ceilings.tool.name} {ceilings.tool.version}"
    if file_format == "png":
        return {"Title": title, "Software": writer}
    return {"Title": title, "Creator": writer, ("CreationDate" if file_format == "pdf" else "Date"): None}


@contextmanager
def _quiet_matplotlib() -> Iterator[None]:
    """No word from matplotlib about folders it cannot write, the fonts it looks for, or a glyph its font lacks.

    Where its configuration folder is not writable it makes a temporary one and says so on stderr: nobody can act on that.
    """
    if not home_folder().exists():
        # It would make one; of a folder that cannot be it makes a temporary one instead.
        os.environ.setdefault("MPLCONFIGDIR", os.devnull)
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            yield
    finally:
        logger.setLevel(level)
