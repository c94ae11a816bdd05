#!/bin/sh
# make.sh LOGPARSE makes the texts in this folder anew: as root, on a kernel with uprobes, with perf,
# bpftrace and gdb. The program is built and run in /opt/lp, so that no other path is in them.
set -eu
logparse=$(readlink -f "$1")
here=$(dirname "$(readlink -f "$0")")
mkdir -p /opt/lp
cd /opt/lp
cp "$here/app.cpp" .
g++ -g -O2 -pthread app.cpp -o app
chosen='app::f app::g app::Shape::area app::half sum'
$logparse probes app $chosen --return -o app.sh 2>/dev/null
mv app.lpnames "$here/names.lpnames"
cp app.sh "$here/perf.sh"
LP_OUT=/opt/lp/perf sh app.sh ./app >/dev/null 2>&1
grep -v '^lp ' perf.txt >"$here/perf.txt"
script() { perf script -i perf.data "$@" 2>/dev/null; }
script >"$here/perf-plain.txt"
script --ns -F trace:comm,pid,tid,cpu,time,event,ip,sym,symoff,dso,trace >"$here/perf-symbols.txt"
script -F trace:event,trace,time,tid >"$here/perf-few.txt"

t=/sys/kernel/tracing
$logparse probes app $chosen --return --for uprobe 2>/dev/null | grep '^[pr]:' | while read -r l; do echo "$l" >>$t/uprobe_events; done
for tgid in 0 1; do
	echo >$t/trace
	echo mono >$t/trace_clock
	echo $tgid >$t/options/record-tgid
	echo 1 >$t/events/lp/enable
	./app >/dev/null
	echo 0 >$t/events/lp/enable
	cat $t/trace >"$here/ftrace$([ $tgid = 0 ] || echo -tgid).txt"
done
echo 0 >$t/options/record-tgid
echo local >$t/trace_clock
echo 1 >$t/events/lp/enable
(timeout 1 cat $t/trace_pipe >"$here/trace_pipe.txt" || :) &
sleep 0.2
./app >/dev/null
wait
echo 0 >$t/events/lp/enable
sed -n 's/^[pr]:\([^ ]*\).*/-:\1/p' $t/uprobe_events | grep ':lp/' | while read -r l; do echo "$l" >>$t/uprobe_events; done

$logparse probes app $chosen --return --for bpftrace 2>/dev/null >app.bt
bpftrace app.bt -c ./app >"$here/bpftrace.txt" 2>/dev/null
bpftrace -f json app.bt -c ./app >"$here/bpftrace.json" 2>/dev/null
$logparse probes app $chosen --return --for gdb 2>/dev/null >app.gdb
gdb -q -batch -x app.gdb --args ./app 2>/dev/null | sed 's/^process [0-9]* is executing.*//' >"$here/gdb.txt"
