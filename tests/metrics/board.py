"""A made-up exporter whose metrics have everything that boards and alerts ask for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.machine.cgroup_names import names_of_path
from noisetop.machine.task_details import ProcessDetails
from noisetop.metrics.registry import Published
from noisetop.metrics.run import Exported
from tests.live.made_up_tracer import DAEMON, VICTIM, MadeUpTracer
from tests.metrics.made_up import exported

PODS = {
    VICTIM: "0a1b2c3d-0000-1111-2222-333344445555",
    DAEMON: "0a1b2c3d-6666-7777-8888-9999aaaabbbb",
}


class TracerOfPods(MadeUpTracer):
    """The victim and the daemon are in pods, other tasks in the root."""

    @property
    def directory(self) -> TaskDirectory:
        found = super().directory
        paths = dict.fromkeys(found.infos, "/") | {
            tid: f"/kubepods/burstable/pod{uid}/{'ab' * 32}" for tid, uid in PODS.items()
        }
        processes = {tid: ProcessDetails("", "", 0, path) for tid, path in paths.items()}
        cgroups = {path: names_of_path(path) for path in paths.values()}
        return TaskDirectory(found.names, found.infos, Details(processes, cgroups))


class KubePodInfo(Collector):
    """What kube-state-metrics tells of those pods."""

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("kube_pod_info", "", labels=("uid", "namespace", "pod"))
        for number, uid in PODS.items():
            family.add_metric((uid, "made-up", f"pod-{number}"), 1)
        yield family


@dataclass
class MadeUpExporter:
    """Each period is another second of a trace."""

    one: Exported = field(default_factory=lambda: exported(TracerOfPods(5)))
    published: Published = field(default_factory=Published)

    def __post_init__(self) -> None:
        self.published.registry.register(KubePodInfo())
        self.next()

    def next(self) -> None:
        """Traces a second and publishes it."""
        self.one.next()
        made = self.one.totals.snapshot()
        seconds = made.traced_ns // 10**9
        self.published.publish(
            replace(
                made,
                calibrated=True,
                bpf_ns=1e6 * seconds,
                own_cpu_ns=10**6 * seconds,
                tick_stops={"stopped": seconds},
                unpaired={"switch": seconds},
                checks={"tick.nohz-full": "fail"},
            )
        )
