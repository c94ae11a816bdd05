#!/bin/sh
# Run it as root: sh SCRIPT [PROGRAM ARGUMENTS... | -p PID | -a], and read what it writes: logparse show calls.txt
set -u
t=/sys/kernel/tracing
[ -e $t/uprobe_events ] || t=/sys/kernel/debug/tracing
[ -w $t/uprobe_events ] || { echo "$0: $t/uprobe_events cannot be written: root, a mounted tracefs and CONFIG_UPROBE_EVENTS are needed" >&2; exit 1; }
out=${LP_OUT:-calls}
probes() { cat <<'END'
p:lp/lp_0001_area /opt/lp/app:0x1450 this=%di:x64 w=%si:s32 h=%dx:s32
r:lp/lp_0001_area__return /opt/lp/app:0x1450 ret=$retval:s32
p:lp/lp_0002_f /opt/lp/app:0x14a0 a=%di:s32 s=+0(%si):string
r:lp/lp_0002_f__return /opt/lp/app:0x14a0 ret=$retval:s32
p:lp/lp_0003_f /opt/lp/app:0x14d0 s=+0(+0(%di)):string c=%si:s32
r:lp/lp_0003_f__return /opt/lp/app:0x14d0 ret=$retval:s32
p:lp/lp_0004_g /opt/lp/app:0x14e0 p_x=%di:s32 p_y=%di:b32@32/64 b_a=+0(%si):s64 b_b=+8(%si):s32 b_c=+12(%si):s8 v_size=%dx:u64 v_data=+0(%cx):string h=%r8:s16
r:lp/lp_0004_g__return /opt/lp/app:0x14e0 ret=$retval:s64
p:lp/lp_0005_half /opt/lp/app:0x1500
r:lp/lp_0005_half__return /opt/lp/app:0x1500
p:lp/lp_0006_sum /opt/lp/app:0x1510 a=%di:s32 b=%si:s32 c=%dx:s32 d=%cx:s32 e=%r8:s32 f=%r9:s32 g=+8(%sp):s32 h=+16(%sp):s32
r:lp/lp_0006_sum__return /opt/lp/app:0x1510 ret=$retval:s32
END
}
remove() { echo 0 > $t/events/lp/enable; probes | sed -n 's/^[pr]:\([^ ]*\).*/-:\1/p' | while read -r l; do echo "$l" >> $t/uprobe_events; done; }
probes | while read -r l; do echo "$l" >> $t/uprobe_events || exit 1; done || { remove 2>/dev/null; exit 1; }
perf record -q -k CLOCK_MONOTONIC -e 'lp:*' -o "$out.data" "$@"
status=$?
{ sed -n 's/^# \(lp [1INA] .*\)/\1/p' "$0"; [ ! -e "${0%.sh}.lpnames" ] || cat "${0%.sh}.lpnames"
perf script -i "$out.data" --ns --show-mmap-events --show-task-events --show-lost-events -F trace:comm,pid,tid,cpu,time,event,trace; } > "$out.txt"
remove
echo "$0: read it with: logparse show $out.txt" >&2
exit $status
