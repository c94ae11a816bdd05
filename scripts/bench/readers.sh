#!/bin/bash
# readers.sh measures what reading a log costs, beside uftrace: the same program
# is recorded by both, and both answer the same questions, alternately.
#
#	scripts/bench/readers.sh [MILLIONS] [ROUNDS]
#
# MILLIONS (51) of events, ROUNDS (3), of which the median counts. Times are
# wall clock in seconds from start to end; output goes to /dev/null, and csv to
# a file besides. logparse answers once without its kept index ("cold") and
# then with it.
set -u
cd "$(dirname "$0")/../.."
millions=${1:-51} rounds=${2:-3}
[ "$(uname -s)" = Linux ] || { echo "readers.sh is for Linux" && exit 77; }
command -v gcc >/dev/null || { echo "gcc is missing" && exit 77; }
command -v uftrace >/dev/null || { echo "uftrace is missing: apt-get install uftrace" && exit 77; }
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o build/logparse ./cmd/logparse || exit 1
logparse=$PWD/build/logparse here=$PWD
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
export LC_ALL=C XDG_CACHE_HOME=$work/cache
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done
cd "$work" || exit 1

objects=()
for f in core control platform_linux modules_linux interpose_linux hooks_cyg; do
	gcc -std=c99 -O2 -I"$here/recorder/include" -c "$here/recorder/src/$f.c" -o $f.o || exit 1
	objects+=($f.o)
done
gcc -g -O2 -finstrument-functions "$here/scripts/bench/calls.c" -c -o calls.o || exit 1
gcc calls.o -o plain && gcc calls.o "${objects[@]}" -o traced -pthread -ldl || exit 1
uftrace record --no-libcall --no-event -b 64m -d ud ./plain "$millions" >/dev/null || exit 1
LOGREC_FILE=$work/calls.lptrace ./traced "$millions" >/dev/null || exit 1
cat calls.lptrace ud/*.dat >/dev/null

# seconds COMMAND... prints the wall time and the greatest resident set in MB.
seconds() { /usr/bin/time -f '%e %M' -o time.txt "$@" >/dev/null 2>err.txt || { cat err.txt >&2 && return 1; } && awk '{ printf "%s %.0f\n", $1, $2 / 1024 }' time.txt; }

table=(
	"report|uftrace report -d ud|$logparse stats calls.lptrace|8"
	"replay as text|uftrace replay -d ud|$logparse show -n 0 calls.lptrace|4"
	"Chrome trace|uftrace dump --chrome -d ud|$logparse save calls.lptrace --format chrome -o -|4"
)
more=(
	"csv of all rows|$logparse save calls.lptrace --format csv -o -"
	"csv to a file|$logparse save calls.lptrace --format csv -o calls.csv"
	"rows of a function|$logparse stats calls.lptrace --where func:=hash"
)
events=$($logparse info calls.lptrace | awk '/ecords/ { gsub(",", ""); for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/ && $i > n) n = $i } END { print n }')
echo "$events events; trace $(stat -c %s calls.lptrace) bytes, uftrace $(cat ud/*.dat | wc -c) bytes; $(nproc) cores, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
median() { sort -n "$1" | awk '{ v[NR] = $1; m[NR] = $2 } END { k = int((NR + 1) / 2); print v[k], m[k] }'; }
for ((r = 0; r < rounds; r++)); do
	for i in "${!table[@]}"; do
		IFS='|' read -r name theirs ours bar <<<"${table[$i]}"
		seconds $theirs >>"theirs.$i" || exit 1
		rm -rf cache
		seconds $ours >>"cold.$i" || exit 1
		seconds $ours >>"ours.$i" || exit 1
	done
	for i in "${!more[@]}"; do
		IFS='|' read -r name ours <<<"${more[$i]}"
		seconds $ours >>"more.$i" || exit 1
	done
done
printf '%-20s %10s %8s %10s %8s %10s %8s %8s\n' "" uftrace MB cold MB indexed "M ev/s" ratio
for i in "${!table[@]}"; do
	IFS='|' read -r name theirs ours bar <<<"${table[$i]}"
	read -r t tm <<<"$(median theirs.$i)"
	read -r c cm <<<"$(median cold.$i)"
	read -r o om <<<"$(median ours.$i)"
	awk -v n="$name" -v t="$t" -v tm="$tm" -v c="$c" -v cm="$cm" -v o="$o" -v e="$events" -v bar="$bar" 'BEGIN {
		printf "%-20s %10.2f %8d %10.2f %8d %10.2f %8.1f %8.1f  bar %d cold %s, indexed %s\n", n, t, tm, c, cm, o, e / c / 1e6, t / c, bar,
			t >= bar * c ? "met" : "MISSED (" sprintf("%.1f", t / c) ")", t >= bar * o ? "met" : "MISSED (" sprintf("%.1f", t / o) ")" }'
done
for i in "${!more[@]}"; do
	IFS='|' read -r name ours <<<"${more[$i]}"
	read -r o om <<<"$(median more.$i)"
	awk -v n="$name" -v o="$o" -v om="$om" -v e="$events" 'BEGIN { printf "%-20s %10.2f s, %.1f million events/s, %d MB\n", n, o, e / o / 1e6, om }'
done
