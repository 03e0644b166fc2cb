"""The list of findings that checks return."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from onnxtxt._native import Finding


class Findings(list[Finding]):
    """A list of findings. ``print`` shows them with their lines, in colors on a terminal.

    >>> import onnxtxt
    >>> found = onnxtxt.parse("g (float[N] x) => (float[N] y) { y = Relu(z) }").check("spec")
    >>> [finding.code for finding in found.errors]
    ['E0302', 'E0203']
    """

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        super().__init__(findings)

    @property
    def errors(self) -> Findings:
        """The errors among them."""
        return Findings(finding for finding in self if finding.is_error)

    @property
    def warnings(self) -> Findings:
        """The warnings among them."""
        return Findings(finding for finding in self if not finding.is_error)

    def __str__(self) -> str:
        if not self:
            return "no findings"
        colored = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        return "\n".join(finding.colored if colored else str(finding) for finding in self)

    def _repr_html_(self) -> str:
        # Here: its table of entities would take a part of the time of the import.
        import html

        return f'<pre style="white-space:pre">{html.escape(str(self) if not self else chr(10).join(map(str, self)))}</pre>'
