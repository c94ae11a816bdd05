#!/bin/bash
# large-trace.sh records a large complete trace and reads it.
#
#	scripts/bench/large-trace.sh MILLIONS THREADS
#
# THREADS threads record MILLIONS million calls each, two events a call, of
# recorder/bench built with gcc -finstrument-functions. The reader then reads
# all events in order of time, counts them and checks each thread's
# (TestRecorded of parser/trace). An event takes 4 bytes of disk; the trace is
# removed afterwards. Exit status 77: there is no room for it, or no gcc.
#
# From the environment: BENCH_DIR, a folder for the trace.
set -u
cd "$(dirname "$0")/../.."
here=$PWD/recorder
millions=${1:-50} threads=${2:-2}
command -v gcc >/dev/null && [ "$(uname -s)" = Linux ] || { echo "left out: the large trace; it needs gcc on Linux" && exit 77; }
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
for v in LOGREC LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done

need=$((millions * threads * 9 / 1000 + 2)) free=$(df --output=avail -k "$work" | tail -n 1)
if [ "$((free / 1000000))" -lt $need ]; then
	echo "left out: the large trace; it needs $need GB in $work"
	exit 77
fi
(cd "$work" && gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$here/include" -c "$here"/src/*.c "$here"/src/*.S) || exit 1
gcc -O2 -finstrument-functions -c "$here/bench/tiny.c" -o "$work/tiny.o" &&
	gcc -O2 -c "$here/bench/bench.c" -o "$work/bench.o" && gcc "$work"/*.o -o "$work/record" -pthread -ldl || exit 1

export LOGREC_FILE=$work/large.lptrace
calls=$((millions * 1000000))
result=$("$work/record" $calls "$threads") || exit 1
size=$(stat -c %s "$LOGREC_FILE") || exit 1
awk -v r="$result" -v s="$size" -v m="$millions" -v t="$threads" 'BEGIN {
	split(r, v, " ")
	printf "large trace: %d threads, %d million events each: %.2f GiB, %.2f bytes and %.2f ns an event, of which the system has %.2f\n",
		t, 2 * m, s / 1024 ^ 3, s / (2e6 * m * t), v[1] / 2, v[2] / 2 }'
LOGPARSER_RECORDED=$LOGREC_FILE LOGPARSER_RECORDED_CALLS=$calls LOGPARSER_RECORDED_THREADS=$threads CGO_ENABLED=0 \
	go test -count 1 -timeout 60m -v -run '^TestRecorded$' ./parser/trace >"$work/read.log" 2>&1
status=$?
if [ $status -ne 0 ]; then
	cat "$work/read.log"
	exit $status
fi
sed -n 's/^ *recorded_test.go:[0-9]*: /large trace: /p' "$work/read.log"
