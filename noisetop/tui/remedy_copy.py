"""The command of a remedy in the clipboard of the terminal (OSC 52), and what it is going to do."""

from __future__ import annotations

from textual.app import App

from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.details import effect
from noisetop.diagnosis.finding import Finding
from noisetop.text.sanitize import printable


def copy_remedy(app: App[bool], finding: Finding, diagnosis: Diagnosis) -> None:
    """Copies it and says effect and undo; says why not where it is no command."""
    if not finding.shell:
        words = f"'{finding.remedy}' is no command for this machine as it stands"
        app.notify(printable(words), severity="warning", markup=False)
        return
    app.copy_to_clipboard(printable(finding.remedy))
    does = effect(finding, diagnosis)
    words = f"copied: {finding.remedy}. Effect: {does}. Undo: {finding.undo}"
    app.notify(printable(words), timeout=10, markup=False)
