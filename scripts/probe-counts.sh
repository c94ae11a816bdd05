#!/bin/bash
# probe-counts.sh records programs of the system by probes of the kernel, and holds the counts against
# perf stat.
#
#	scripts/probe-counts.sh LOGPARSE [GO-PROGRAM]
#
# FOLDER, from the environment, has programs of the distribution that are not installed: ripgrep's rg (Rust) and
# fzf (Go), as dpkg -x lays them. Those that run with threads or timers are counted by perf in the same run.
#
# As root, with perf. Each line is a program: functions, hits, whether each function has as many
# calls as perf counts, and whether the program printed the same as without probes. It fails
# where one differs.
set -u
logparse=$(readlink -f "$1")
go=${2:-}
[ -n "$go" ] && go=$(readlink -f "$go")
t=/sys/kernel/tracing
command -v perf >/dev/null || { echo "skipped: perf is not here"; exit 0; }
[ -w $t/uprobe_events ] || { echo "skipped: no root, no tracefs, or a kernel without uprobes"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# define IMAGE PATTERN has perf know the probes; forget takes them away.
define() { "$logparse" probes "$1" "$2" --for uprobe --args none 2>/dev/null | grep '^p:' | while read -r l; do echo "$l" >>$t/uprobe_events; done; }
forget() {
	echo 0 >$t/events/lp/enable
	grep -o '^[pr]:lp/[^ ]*' $t/uprobe_events | sed 's/^.:/-:/' | while read -r l; do echo "$l" >>$t/uprobe_events; done
}
# ours writes how often each function was called by the log, theirs by perf.
ours() { "$logparse" show rec --where event:enter --columns address,module --format csv --no-index-cache 2>/dev/null | tail -n +2 | cut -d, -f1 | sort | uniq -c | awk '{ print $1 }' | sort -n >ours; }
theirs() { awk -F, '$3 ~ /^lp:/ && $1 > 0 { print $1 }' stat | sort -n >theirs; }

# same NAME IMAGE PATTERN COMMAND...: log and perf see the same run.
same() {
	local name=$1 image=$2 pattern=$3 plain probed counts=same output=same
	shift 3
	[ -e "$image" ] || { echo "$name: skipped, it is not here"; return; }
	rm -rf rec
	plain=$("$@" 2>&1 | md5sum)
	define "$image" "$pattern"
	probed=$(perf stat -x, -e 'lp:*' -o stat "$logparse" record -q --probe "$pattern" --image "$image" -o rec "$@" 2>&1 | md5sum)
	forget
	[ -e rec ] || { echo "$name: nothing was recorded"; failed=1; return; }
	ours
	theirs
	cmp -s ours theirs || { counts=DIFFERENT; failed=1; diff ours theirs | head -5; }
	[ "$plain" = "$probed" ] || { output=DIFFERENT; failed=1; }
	echo "$name: $(wc -l <ours) functions, $(awk '{ n += $1 } END { print n + 0 }' ours) hits, counts $counts, output $output (one run)"
}

# one NAME IMAGE PATTERN COMMAND...
one() {
	local name=$1 image=$2 pattern=$3
	shift 3
	[ -e "$image" ] && command -v "$1" >/dev/null || { echo "$name: skipped, it is not here"; return; }
	rm -rf rec
	local plain probed
	plain=$("$@" 2>&1 | md5sum)
	probed=$("$logparse" record -q --probe "$pattern" --image "$image" -o rec "$@" 2>&1 | md5sum)
	[ -e rec ] || { echo "$name: nothing was recorded"; failed=1; return; }
	ours
	define "$image" "$pattern"
	perf stat -x, -e 'lp:*' -o stat "$@" 2>&1 | md5sum >/dev/null
	forget
	theirs
	local counts=same output=same
	cmp -s ours theirs || { counts=DIFFERENT; failed=1; diff ours theirs | head -5; }
	[ "$plain" = "$probed" ] || { output=DIFFERENT; failed=1; }
	echo "$name: $(wc -l <ours) functions, $(awk '{ n += $1 } END { print n + 0 }' ours) hits, counts $counts, output $output"
}

lib() { find /usr/lib /lib -name "$1" -type f 2>/dev/null | head -1; }
seq 1 20000 >numbers
one xz "$(lib 'liblzma.so.5.*')" 'lzma_*' xz -k -c -T1 numbers
one sqlite3 "$(lib 'libsqlite3.so.0.*')" 'sqlite3_*' sqlite3 :memory: 'create table t(a); insert into t values (1), (2), (3); select sum(a), count(*) from t;'
one python3 "$(readlink -f /usr/bin/python3)" 'PyDict_*' env -i PYTHONHASHSEED=0 setarch -R /usr/bin/python3 -S -E -c 'd = {i: str(i) for i in range(50)}; print(sum(d))'
one git "$(readlink -f /usr/bin/git)" 'sub_????a0' git hash-object numbers
one redis "$(readlink -f /usr/bin/redis-check-rdb)" 'sub_?0???' redis-check-rdb --version
cat >server.sh <<'END'
redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no >/dev/null &
for i in 1 2 3 4 5 6 7 8 9; do [ -S socket ] && break; sleep 0.3; done
for i in 1 2 3 4 5 6 7 8; do redis-cli -s socket set "key$i" "value$i"; redis-cli -s socket get "key$i"; done
redis-cli -s socket shutdown nosave
wait
END
same redis-server "$(readlink -f /usr/bin/redis-server)" 'sub_????00' sh server.sh
programs=${FOLDER:-/}/usr/bin
same ripgrep "$programs/rg" 'sub_????00' "$programs/rg" --no-config -c 77 numbers
same fzf "$programs/fzf" 'github.com/junegunn/fzf/*' sh -c "'$programs/fzf' -f 1999 <numbers"
[ -n "$go" ] && one go "$go" 'main.*' "$go"
exit $failed
