"""A diagnosis as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from noisetop.checked_json import sealed
from noisetop.checks import CheckResult
from noisetop.counters.left_out import LEFT_OUT
from noisetop.diagnosis import Diagnosis
from noisetop.diagnosis.audit import related
from noisetop.diagnosis.details import effect
from noisetop.diagnosis.evidence import Share
from noisetop.diagnosis.finding import Finding
from noisetop.diagnosis.page import Unexplained, unexplained
from noisetop.diagnosis.saved import Change, as_saved


def as_json(
    diagnosis: Diagnosis,
    audit: Sequence[CheckResult] = (),
    *,
    version: str,
    title: str = "",
    changes: Sequence[Change] | None = None,
) -> str:
    """Everything of the page for programs, times in ns. Control characters are escaped."""
    evidence = diagnosis.evidence
    document: dict[str, object] = {
        **as_saved(diagnosis, version),
        "title": title,
        "start_ns": evidence.start_ns,
        "total_ns": diagnosis.explained_ns + diagnosis.unexplained_ns,
        "explained_ns": diagnosis.explained_ns,
        "unexplained_ns": diagnosis.unexplained_ns,
        "incomplete": evidence.incomplete,
        **LEFT_OUT.as_dict(evidence.left_out),
        "unattributed_ns": evidence.unattributed_ns,
        "external_ns": diagnosis.external_ns,
        "self_ns": diagnosis.own_ns,
        "contention_ns": diagnosis.contention_ns,
        "turns_ns": sum(one.net_ns for one in diagnosis.turns),
        "estimated": diagnosis.estimated,
        "findings": [_finding_dict(one, diagnosis, audit) for one in diagnosis.findings],
        "unexplained": [_unexplained_dict(left) for left in unexplained(diagnosis)],
        "cannot_tell": [
            {"rule": rule.name, "needs": reason.needs} for rule, reason in diagnosis.unsure
        ],
    }
    if changes is not None:
        document["changes"] = [change.as_dict() for change in changes]
    # json escapes all control characters but this one.
    return json.dumps(sealed(document), indent=2).replace("\x7f", "\\u007f") + "\n"


def _unexplained_dict(left: Unexplained) -> dict[str, object]:
    return {
        "path": list(left.path),
        "origins": [origin.label for origin in left.origins],
        "count": left.count,
        "net_ns": left.net_ns,
    }


def _finding_dict(
    finding: Finding, diagnosis: Diagnosis, audit: Sequence[CheckResult]
) -> dict[str, object]:
    return {
        **_figures(finding, diagnosis),
        "remedy": finding.remedy,
        "undo": finding.undo,
        "shell": finding.shell,
        "otherwise": finding.otherwise,
        "read": [{"path": one.path, "value": one.value} for one in finding.readings],
        "reboot": finding.reboot,
        "effect": effect(finding, diagnosis),
        "confidence": finding.confidence,
        "confirm": finding.confirm,
        "checks": [_check(result) for result in related(finding, audit)],
    }


def _figures(finding: Finding, diagnosis: Diagnosis) -> dict[str, object]:
    return {
        "key": finding.key,
        "rule": finding.rule,
        "about": finding.about,
        "cause": finding.cause,
        "cpus": list(finding.cpus),
        "count": finding.count,
        "net_ns": finding.net_ns,
        "net_ns_per_s": round(finding.net_ns * 1e9 / diagnosis.evidence.duration_ns),
        "cost_ns": finding.lost_ns if finding.estimated else None,
        "rank_ns": finding.cost_ns,
        "self_ns": finding.own_ns,
        "origins": [origin.label for origin in finding.origins],
        "wait_ns": finding.wait_ns,
        "wait_count": finding.wait_count,
        "blocks_ns": list(finding.blocks_ns),
        "period_ns": finding.period_ns,
        "worst": _worst(finding.worst),
        "paths": [list(path) for path in finding.paths],
        "culprits": [asdict(culprit) for culprit in finding.culprits],
        "senders": [
            {"label": sender.trigger.label, "count": sender.count, "net_ns": sender.net_ns}
            for sender in finding.senders()
        ],
        "user_stack": list(finding.user_stack),
    }


def _check(result: CheckResult) -> dict[str, object]:
    return {
        "id": result.id,
        "name": result.check.name,
        "status": result.status,
        "read": [{"path": one.path, "value": one.value} for one in result.verdict.readings],
    }


def _worst(share: Share | None) -> dict[str, object] | None:
    if share is None:
        return None
    return {"cpu": share.cpu, "start_ns": share.max_start_ns, "net_ns": share.max_ns}
