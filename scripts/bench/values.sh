#!/bin/bash
# values.sh measures filters on values of calls.
#
#	scripts/bench/values.sh [MILLIONS] [ROUNDS]
#
# A program (scripts/bench/programs/tenth.c) makes MILLIONS (51) of events; of every tenth call arguments and
# result are taken. What is measured are whole commands with the index kept, ROUNDS (5) times, of
# which the median counts; then the tests and the decoding of single calls. Lines that begin with "bar" compare
# with what is asked for. Exit status 77: what it needs is not here.
#
# From the environment: BENCH_DIR, a folder for the log.
set -u
cd "$(dirname "$0")/../.."
millions=${1:-51} rounds=${2:-5} here=$PWD
if [ "$(uname -sm)" != "Linux x86_64" ] || ! command -v gcc >/dev/null; then
	echo "left out: filters on values; they need gcc on Linux, x86-64"
	exit 77
fi
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
export LC_ALL=C CGO_ENABLED=0
for v in LOGREC LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done
go build -trimpath -o "$work/logparse" ./cmd/logparse && go test -tags ci,migrated_fynedo -c -o "$work/values_test" ./calls/values || exit 1
cd "$work" || exit 1
rec=$here/recorder
gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$rec/include" -c "$rec"/src/*.c "$rec"/src/*.S &&
	gcc -O2 -pg -mfentry -minstrument-return=call "$here/scripts/bench/programs/tenth.c" ./*.o -o values -Wl,--build-id -pthread -ldl &&
	"$rec/tests/values_plan.sh" "$rec/bench/tiny_values.plan" values >values.lpvalues &&
	LOGREC_FILE=$work/tenth.lptrace LOGREC_VALUES=$work/values.lpvalues ./values $((millions * 500000)) || exit 1
export XDG_CACHE_HOME=$work/cache
./logparse show tenth.lptrace -n 1 >/dev/null || exit 1

echo "values: $millions million rows, every tenth with values, $(stat -c %s tenth.lptrace) bytes; $rounds rounds, $(nproc) cores, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
TIMEFORMAT='%R %U %S'
half=$((millions * 25000))
for ((r = 0; r < rounds; r++)); do
	for filter in func:tiny "arg.a:>$half" "result:<$half"; do
		{ time ./logparse show tenth.lptrace --where "$filter" -n 1 >/dev/null 2>err.txt; } 2>time.txt || { cat err.txt && exit 1; }
		awk '{ print $1, $2 + $3 }' time.txt >>"times.${filter%%:*}"
	done
done
median() { sort -n "$1" | awk '{ v[NR] = $0 } END { print v[int((NR + 1) / 2)] }'; }
printf '%-24s %8s %8s\n' "s" wall CPU
for what in func arg.a result; do
	printf '%-24s %8s %8s\n' "$what" $(median "times.$what")
done
for what in arg.a result; do
	for by in wall CPU; do
		awk -v by=$by '{ print by == "CPU" ? $2 : $1 }' "times.$what" | sort -n >sorted.txt
		median sorted.txt | awk -v w="filter $what, $by, s" '{ printf "bar %-32s %8.2f of %7.2f %s\n", w, $1, 1, ($1 < 1) ? "met" : "MISSED" }'
	done
done
# By processor time, on one core.
for what in filter/int filter/text decode/ints decode/text; do
	{ time GOMAXPROCS=1 ./values_test -test.run '^$' -test.bench "Values/$what" -test.benchtime 3000000x >/dev/null; } 2>time.txt || exit 1
	awk -v w="$what, million calls/s" '{ s = 3 / ($2 + $3); printf "bar %-32s %8.1f of %7.1f %s\n", w, s, 5, (s >= 5) ? "met" : "MISSED" }' time.txt
done
