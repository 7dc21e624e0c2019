"""Network: packets handled on this CPU."""

from __future__ import annotations

from noisetop.diagnosis.advice import move_interrupt, stop_steering
from noisetop.diagnosis.evidence import Evidence, Share
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import (
    Match,
    Texts,
    by_sender,
    calls,
    cause,
    grouped,
    hrtimers,
    rule,
    softirqs,
)

_HANDED_ON = Match(calls("rps_trigger_softirq", "trigger_rx_softirq"))
_RECEIVED = Match(softirqs("NET_RX"))
_HANDLED = Match(softirqs("NET_RX"), sender=("call_function*",))


@rule(
    "packet-steering",
    "Another CPU steers received packets to this one (RPS)",
    seen_as=f"{_HANDED_ON.words}; {_HANDLED.words}",
    remedy="echo {mask} > /sys/class/net/IF/queues/rx-0/rps_cpus for every queue",
    undo="echo the former mask into the same files",
    otherwise="sysctl -w net.core.skb_defer_max=0, where it is seen as trigger_rx_softirq",
    act=stop_steering,
    confirm="grep . /sys/class/net/*/queues/rx-*/rps_cpus; sysctl net.core.skb_defer_max",
    source="D49; net/core/dev.c",
    rank=_HANDLED.rank,
    confidence=Confidence.CERTAIN,
)
def packet_steering(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The call that hands packets on, and what is done with them."""
    mine = [*_HANDED_ON.claimed(evidence.shares), *_HANDLED.claimed(evidence.shares)]
    return grouped("packet-steering", mine, evidence, None, texts)


def _sent_here(share: Share) -> bool:
    """Whether a task raised it in a system call of its own: it sent to this machine itself. What
    comes from outside is raised by a card's interrupt."""
    return bool(share.trigger.task) and not share.trigger.context


@rule(
    "loopback",
    "{about} sends packets to programs on this machine, and its CPU delivers them (loopback)",
    seen_as=f"{_RECEIVED.words}; raised in a system call of the sender",
    remedy="let the two communicate through a Unix socket in place of TCP or UDP",
    undo="the former address",
    effect="a Unix socket needs no packets",
    otherwise="echo {mask} > /sys/class/net/lo/queues/rx-0/rps_cpus",
    confirm="grep -w lo: /proc/net/dev before and after: its packets grow",
    source="D49; drivers/net/loopback.c, net/core/dev.c",
    rank=_HANDLED.rank,
    confidence=Confidence.CERTAIN,
)
def loopback(evidence: Evidence, texts: Texts) -> list[Finding]:
    """Packets that never saw a card."""
    mine = [share for share in _RECEIVED.claimed(evidence.shares) if _sent_here(share)]
    return grouped("loopback", mine, evidence, by_sender, texts)


RULES = (
    cause(
        "packets-of-a-card",
        "This CPU processes packets that a network card received ({about})",
        *softirqs("NET_RX"),
        sender=("irq *",),
        subject=lambda share: share.trigger.context,
        remedy="echo {keep} > /proc/irq/{irq}/smp_affinity_list",
        undo="echo the former list into /proc/irq/{irq}/smp_affinity_list",
        effect="the packets follow the card's interrupt",
        otherwise="ethtool -X IF with no queue for CPU {cpus}, for a card of several queues",
        act=move_interrupt,
        confirm="cat /proc/net/softnet_stat before and after: its row for CPU {cpu} grows",
        source="D50, D65; net/core/dev.c",
    ),
    cause(
        "packets-received",
        "This CPU processes received packets",
        *softirqs("NET_RX"),
        remedy="ethtool -X IF with no queue for CPU {cpus}, and move the card's interrupts",
        undo="ethtool -X IF default",
        otherwise="send and receive on other CPUs: taskset -pc {keep} {pid}",
        confirm="cat /proc/net/softnet_stat before and after: its row for CPU {cpu} grows",
        source="D50, D65; net/core/dev.c",
    ),
    cause(
        "packets-sent",
        "This CPU processes transmitted packets",
        *softirqs("NET_TX"),
        remedy="echo {mask} > /sys/class/net/IF/queues/tx-0/xps_cpus",
        undo="echo the former mask into the same file",
        otherwise="send from other CPUs: taskset -pc {keep} {pid}",
        confirm="grep NET_TX /proc/softirqs before and after",
        source="D49, D50; net/core/dev.c",
    ),
    cause(
        "packet-threads",
        "NAPI threads run on this CPU",
        ("thread", "napi/*"),
        ("thread", "backlog_napi/*"),
        remedy="for t in $(pgrep ^napi/); do taskset -pc {keep} $t; done",
        undo="for t in $(pgrep ^napi/); do taskset -pc {all} $t; done",
        confirm="cat /sys/class/net/*/threaded",
        source="D50; net/core/dev.c",
    ),
    cause(
        "packet-timer",
        "A timer that defers a network card's interrupts runs on this CPU",
        *hrtimers("napi_watchdog"),
        remedy="echo 0 > /sys/class/net/IF/gro_flush_timeout",
        undo="echo the former number into the same file",
        confirm="grep . /sys/class/net/*/gro_flush_timeout",
        source="D50; net/core/dev.c",
    ),
    cause(
        "traffic-shaping",
        "A traffic shaping timer sends packets on this CPU",
        *hrtimers("qdisc_watchdog", "tcp_pace_kick"),
        remedy="send from other CPUs: taskset -pc {keep} {pid}, or tc qdisc del dev IF root",
        undo="tc qdisc with the former discipline",
        confirm="tc -s qdisc",
        source="net/sched/sch_api.c",
    ),
    cause(
        "acknowledgements",
        "A TCP acknowledgement timer runs on this CPU",
        *hrtimers("tcp_compressed_ack_kick"),
        remedy="receive on other CPUs: taskset -pc {keep} {pid}; or net.ipv4.tcp_comp_sack_nr=0",
        undo="taskset -pc with the former CPUs, sysctl -w net.ipv4.tcp_comp_sack_nr=44",
        confirm="nstat -az TcpExtTCPAckCompressed before and after",
        source="net/ipv4/tcp_timer.c; ip-sysctl.rst",
    ),
)
