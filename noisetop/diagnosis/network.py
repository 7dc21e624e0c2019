"""Network: packets handled on this CPU."""

from __future__ import annotations

from noisetop.diagnosis.advice import stop_steering
from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.rule import Match, Texts, calls, cause, grouped, hrtimers, rule, softirqs

_HANDED_ON = Match(calls("rps_trigger_softirq", "trigger_rx_softirq"))
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


RULES = (
    cause(
        "packets-received",
        "This CPU processes received packets",
        *softirqs("NET_RX"),
        remedy="ethtool -X IF with no queue for CPU {cpus}, and move the card's interrupts",
        undo="ethtool -X IF default",
        otherwise="send and receive on other CPUs: taskset -pc {keep} PID",
        confirm="cat /proc/net/softnet_stat before and after: its row for CPU {cpu} grows",
        source="D50, D65; net/core/dev.c",
    ),
    cause(
        "packets-sent",
        "This CPU processes transmitted packets",
        *softirqs("NET_TX"),
        remedy="echo {mask} > /sys/class/net/IF/queues/tx-0/xps_cpus",
        undo="echo the former mask into the same file",
        otherwise="send from other CPUs: taskset -pc {keep} PID",
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
        remedy="send from other CPUs: taskset -pc {keep} PID, or tc qdisc del dev IF root",
        undo="tc qdisc with the former discipline",
        confirm="tc -s qdisc",
        source="net/sched/sch_api.c",
    ),
    cause(
        "acknowledgements",
        "A TCP acknowledgement timer runs on this CPU",
        *hrtimers("tcp_compressed_ack_kick"),
        remedy="receive on other CPUs: taskset -pc {keep} PID; or net.ipv4.tcp_comp_sack_nr=0",
        undo="taskset -pc with the former CPUs, sysctl -w net.ipv4.tcp_comp_sack_nr=44",
        confirm="nstat -az TcpExtTCPAckCompressed before and after",
        source="net/ipv4/tcp_timer.c; ip-sysctl.rst",
    ),
)
