#!/bin/sh
# Runs a command while every tracepoint that noisetop knows has two listeners that write nothing down.
# The first two make the kernel rewrite its code, those after them do not; and QEMU 7.2, now and then, goes on with the
# code that was there halfway through (emulator.py). So it is rewritten once, while all is quiet.
set -eu
tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs none $tracing
for name in first second; do
	instance=$tracing/instances/$name
	mkdir $instance
	echo 0 >$instance/tracing_on
	echo 4 >$instance/buffer_size_kb
	for group in csd ipi irq irq_vectors nmi power sched thermal timer workqueue; do
		[ ! -d $instance/events/$group ] || echo 1 >$instance/events/$group/enable
	done
done
exec "$@"
