#!/bin/bash
# opening.sh measures how long a large trace takes to open.
#
#	scripts/bench/opening.sh [MILLIONS] [ROUNDS]
#
# scripts/bench/programs/graph.c makes MILLIONS (229) of events in 2 threads. Then, ROUNDS (5) times in turns:
# the first rows of the trace as one never seen before, and its statistics with the index that is kept;
# the median counts. The first rows are held against those that are shown with the index. Lines that begin
# with "bar" compare with what opening has to keep to, wall-clock times on an idle machine.
#
# From the environment: BENCH_DIR, a folder for the trace. Exit status 77: what it needs is not here.
set -u -o pipefail
cd "$(dirname "$0")/../.."
millions=${1:-229} rounds=${2:-5} here=$PWD
leave_out() {
	echo "left out: the opening of a large trace; $*"
	exit 77
}
[ "$(uname -s)" = Linux ] || leave_out "it is recorded on Linux"
command -v gcc >/dev/null || leave_out "it needs gcc"
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
need=$((millions * 5 / 1000 + 1)) free=$(df --output=avail -k "$work" | tail -n 1)
[ $((free / 1000000)) -ge $need ] || leave_out "it needs $need GB in $work"
export LC_ALL=C CGO_ENABLED=0 XDG_CACHE_HOME=$work/cache
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done
go build -trimpath -ldflags "-s -w" -o "$work/logparse" ./cmd/logparse || exit 1
for f in recorder/src/*.c recorder/src/*.S; do
	gcc -std=c99 -O2 -Irecorder/include -c "$f" -o "$work/logrec.$(basename "$f").o" || exit 1
done
gcc -g -O2 -finstrument-functions -c "$here/scripts/bench/programs/graph.c" -o "$work/graph.o" &&
	gcc "$work/graph.o" "$work"/logrec.*.o -o "$work/graph" -pthread -ldl || exit 1
cd "$work" || exit 1
LOGREC_FILE=$work/g.lptrace ./graph "$millions" 2 >/dev/null || exit 1

median() { sort -n "$1" | awk '{ v[NR] = $0 } END { print v[int((NR + 1) / 2)] }'; }
TIMEFORMAT='%R %U %S'
# timed FILE COMMAND... appends the seconds of wall clock and processor to FILE.
timed() {
	local file=$1
	shift
	{ time "$@" >/dev/null 2>err.txt; } 2>time.txt || { cat err.txt && exit 1; }
	awk '{ print $1, $2 + $3 }' time.txt >>"$file"
}
# bar WHAT IS LIMIT: IS has to be LIMIT at most.
bar() { awk -v w="$1" -v is="$2" -v limit="$3" 'BEGIN { printf "bar %-52s %9.3f of %7.3f %s\n", w, is, limit, is <= limit ? "met" : "MISSED" }'; }
first_rows() { { ./logparse show g.lptrace "$@" 2>/dev/null || true; } | head -n 10000 | tail -n 9900; }

first_rows --index-cache "$work/none" >new.txt
./logparse stats g.lptrace >/dev/null || exit 1
first_rows >kept.txt
cmp -s new.txt kept.txt || { echo "FAIL: the first rows of a trace never seen before are others than with its index" && exit 1; }
head_of() { first_rows --index-cache "$work/none"; }
for ((r = 0; r < rounds; r++)); do
	timed first head_of
	timed kept ./logparse stats g.lptrace
done
size=$(stat -c %s g.lptrace) cached=$(cat cache/logparser/indexes/*.lp* | wc -c)
echo "opening: a trace of $millions million events, $size bytes; $rounds rounds, $(nproc) cores, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
for what in first kept; do echo "$what: $(median $what | awk '{ print $1 " s, CPU " $2 " s" }')"; done
bar "first rows of show, new, s" "$(median first | cut -d ' ' -f 1)" 0.5
bar "statistics, kept, s" "$(median kept | cut -d ' ' -f 1)" 0.3
bar "what is kept, % of the trace" "$(awk -v c="$cached" -v s="$size" 'BEGIN { print c / s * 100 }')" 10
exit 0
