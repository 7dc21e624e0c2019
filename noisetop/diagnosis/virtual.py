"""Virtual machines, as host and as guest."""

from __future__ import annotations

from noisetop.diagnosis.rule import calls, cause, hrtimers, works

RULES = (
    cause(
        "guest-channel-work",
        "Traffic of virtio sockets is processed on this CPU",
        *works("virtio_transport_*", "vsock_*", "vhost_*"),
        remedy="keep what communicates with the host off this CPU: taskset -pc {keep} {pid}",
        undo="taskset -pc with the former CPUs",
        confirm="the queuer of the work; ss --vsock",
        source="D72; net/vmw_vsock",
    ),
    cause(
        "guest-timer",
        "A timer of a virtual machine expires on this CPU",
        *hrtimers("apic_timer_fn", "pit_timer_fn", "stimer_timer_callback", "kvm_*"),
        remedy="pin the machine's virtual CPUs elsewhere: virsh vcpupin",
        undo="virsh vcpupin with the former CPUs",
        confirm="pgrep -a qemu; virsh vcpuinfo",
        source="D55; arch/x86/kvm/lapic.c",
    ),
    cause(
        "guest-kick",
        "A virtual CPU on this CPU is kicked out of its guest",
        *calls("ack_kick", "ack_flush", "kvm_*"),
        remedy="pin the machine's virtual CPUs elsewhere: virsh vcpupin",
        undo="virsh vcpupin with the former CPUs",
        confirm="pgrep -a qemu; virsh vcpuinfo",
        source="D55; virt/kvm/kvm_main.c",
    ),
    cause(
        "guest-threads",
        "Threads of virtual machines run on this CPU",
        ("thread", "vhost-*"),
        ("thread", "kvm-nx-lpage-re*"),
        ("thread", "kvm-pit/*"),
        ("thread", "CPU */KVM"),
        ("thread", "qemu-*"),
        remedy="virsh vcpupin and virsh emulatorpin to CPUs {keep}",
        undo="virsh vcpupin and virsh emulatorpin with the former CPUs",
        confirm="ps -eLo tid,psr,comm | grep -E 'vhost|KVM|qemu'",
        source="D55; symbol index",
    ),
)
