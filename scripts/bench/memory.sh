#!/bin/bash
# memory.sh measures memory and time of opening a log that is larger than what
# the memory may hold.
#
#	scripts/bench/memory.sh [MILLIONS] [command]
#
# A classic log of MILLIONS (100) of 16-byte records is made by scripts/genlog.
# "logparse stats" reads it as one never seen before and again with the kept
# index, and has to count as many calls of each function as the generator wrote.
# Then the window opens it on a display of its own (Xvfb), until its index is
# done; with the word "command" it is left out. Printed is the most anonymous
# memory (RssAnon of /proc/PID/status, looked at all the time: heap and stacks,
# not the file cache), and how long the first rows take. Lines that begin with
# "bar" compare with what has to be kept to. The log is removed afterwards.
#
# From the environment: BENCH_DIR, a folder for the log. Exit status 77: there
# is no room for it.
set -u
cd "$(dirname "$0")/../.."
millions=${1:-100} which=${2:-} here=$PWD
leave_out() {
	echo "left out: a log of $millions million records; $*"
	exit 77
}
[ -r /proc/self/status ] || leave_out "/proc is not here"
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
running=
finish() {
	[ -z "$running" ] || kill $running 2>/dev/null
	wait 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
# The log, at most a tenth of it for the index, and 8 GB that others may need.
need=$((millions * 18 / 1000 + 8)) free=$(df --output=avail -k "$work" | tail -n 1)
[ $((free / 1000000)) -ge $need ] || leave_out "it needs $need GB in $work"
GOCACHE=$(go env GOCACHE) && export GOCACHE
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$work/logparse" ./cmd/logparse &&
	CGO_ENABLED=0 go build -o "$work/genlog" ./scripts/genlog || exit 1
export LC_ALL=C.UTF-8 XDG_CACHE_HOME=$work/cache
records=$((millions * 1000000)) log=$work/log/LogDetails.dat status=0
"$work/genlog" -records $records -size 16 -calls "$work/calls.txt" "$work/log" >/dev/null || exit 1

bar() { awk -v w="$1" -v is="$2" -v limit="$3" 'BEGIN { printf "bar %-44s %8.3f of %7.3f %s\n", w, is, limit, is <= limit ? "met" : "MISSED" }'; }
now() { date +%s%N; }
# peak PID prints the most MB of anonymous memory that the process has until it
# ends or the file stop is there, and its processor time in seconds.
peak() {
	local most=0 ticks=0 line lines fields
	while [ ! -e "$work/stop" ] && mapfile -t lines <"/proc/$1/status"; do
		for line in "${lines[@]}"; do
			case $line in
			State:*Z*) break 2 ;;
			RssAnon:*) read -ra fields <<<"$line" && ((fields[1] > most)) && most=${fields[1]} ;;
			esac
		done
		# Behind the name in brackets; user and system time are fields 14 and 15.
		read -r line <"/proc/$1/stat" && read -ra fields <<<"${line##*) }" && ticks=$((fields[11] + fields[12]))
		sleep 0.01
	done 2>/dev/null
	awk -v k=$most -v t=$ticks -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%d %.2f\n", k / 1024, t / hz }'
}
# statistics NAME prints time and memory of logparse stats, and checks it.
statistics() {
	local begin mb cpu
	begin=$(now)
	"$work/logparse" stats "$log" --format csv >"$work/stats.csv" 2>"$work/err.txt" &
	running=$!
	peak $running >"$work/peak.txt"
	read -r mb cpu <"$work/peak.txt"
	wait $running || { cat "$work/err.txt" && exit 1; }
	running=
	seconds=$(awk -v a="$begin" -v b="$(now)" 'BEGIN { print (b - a) / 1e9 }')
	echo "$1: $seconds s, CPU $cpu s, $(awk -v n="$millions" -v s="$seconds" 'BEGIN { printf "%.1f", n / s }') million records/s, $mb MB anonymous"
	if ! awk -F, 'NR > 1 { print $1, $6 }' "$work/stats.csv" | LC_ALL=C sort | cmp -s - <(LC_ALL=C sort "$work/calls.txt"); then
		echo "FAIL: $1: the calls of a function are not those that were written"
		status=1
	fi
	bar "$1, MB" "$mb" 300
}
first_rows() {
	local begin
	begin=$(now)
	"$work/logparse" show "$log" 2>/dev/null | head -n 70 >"$work/rows.txt"
	seconds=$(awk -v a="$begin" -v b="$(now)" 'BEGIN { print (b - a) / 1e9 }')
	[ "$(wc -l <"$work/rows.txt")" = 70 ] || { echo "FAIL: no first rows" && status=1; }
	bar "first rows of show, $1, s" "$seconds" 0.3
}

echo "a log of $millions million records, $(stat -c %s "$log") bytes; load $(cut -d ' ' -f 1-3 /proc/loadavg)"
first_rows "new"
rm -rf "$work/cache"
statistics "stats, new"
index=$(find "$work/cache" -name '*.lpindex' -exec stat -c %s {} + | awk '{ n += $1 } END { print n + 0 }')
awk -v i="$index" -v n=$records 'BEGIN { printf "bar %-44s %8.3f of %7.3f %s\n", "the kept index, % of the log", i / n / 16 * 100, 10, i && i <= n * 1.6 ? "met" : "MISSED" }'
statistics "stats, kept"
bar "opening again, s" "$seconds" 0.5
first_rows "kept"
[ "$which" = command ] && exit $status

for p in Xvfb xdotool; do command -v $p >/dev/null || { echo "left out: the window; it needs $p" && exit $status; }; done
(cd "$here" && make -s window) >"$work/make.txt" 2>&1 || { tail -n 5 "$work/make.txt" && exit 1; }
Xvfb -displayfd 9 -screen 0 1280x900x24 -nolisten tcp 9>"$work/display" >/dev/null 2>&1 &
server=$!
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
# window NAME opens the log as one never seen before or again.
window() {
	local mb cpu shown loaded begin
	mkdir -p "$work/home/run" && chmod 700 "$work/home/run"
	rm -f "$work/stop"
	: >"$work/trace.txt"
	begin=$(now)
	DISPLAY=:$(cat "$work/display") LANG=en_US.UTF-8 HOME=$work/home XDG_CONFIG_HOME=$work/home/.config XDG_RUNTIME_DIR=$work/home/run \
		FYNE_SCALE=1 LOGPARSER_TRACE=1 LOGPARSER_DIALOGS=fyne "$here/build/logparser" "$log" >>"$work/trace.txt" 2>"$work/err.txt" &
	running="$! $server"
	peak $! >"$work/peak.txt" &
	for _ in $(seq 1200); do
		grep -q '^loaded' "$work/trace.txt" && break
		kill -0 ${running% *} 2>/dev/null || break
		sleep 0.1
	done
	loaded=$(awk -v a="$begin" -v b="$(now)" 'BEGIN { print (b - a) / 1e9 }')
	grep -q '^loaded' "$work/trace.txt" || {
		echo "FAIL: the window did not load the log ($loaded s)"
		kill ${running% *} 2>/dev/null
		wait ${running% *}
		echo "exit status $?"
		cat "$work/trace.txt" "$work/err.txt"
		running=$server
		exit 1
	}
	sleep 2
	touch "$work/stop"
	sleep 0.2
	read -r mb cpu <"$work/peak.txt"
	grep -E '^Rss|^VmHWM' "/proc/${running% *}/status" | awk '{ printf "%s %d MB  ", $1, $2 / 1024 } END { print "" }'
	kill ${running% *}
	wait ${running% *} 2>/dev/null
	running=$server
	shown=$(sed -n 's/^shown \([0-9]*\) ms.*/\1/p' "$work/trace.txt" | head -n 1)
	echo "window, $1: first rows ${shown:-not} ms after opening, index done $loaded s after the start of the process, CPU $cpu s until two seconds later, $mb MB anonymous"
	bar "first rows of the window, $1, s" "$(awk -v ms="${shown:-1e9}" 'BEGIN { print ms / 1000 }')" 0.3
	bar "window, $1, MB" "$mb" 300
}
running=$server
rm -rf "$work/cache"
window new
window kept
exit $status
