#!/bin/bash
# workloads.sh makes the logs that reading is measured on.
#
#	scripts/bench/workloads.sh FOLDER [MILLIONS]
#
# Each has about MILLIONS (46) of events:
#
#	w1.lptrace          300 functions that call each other at random, in 2 threads (graph.c)
#	w2.lptrace          the same in 16 threads
#	w4/LogDetails.dat   the first as a classic log (scripts/genlog)
#	w5.lptrace          7 tiny functions, as tracers are measured with (calls.c)
#
# Exit status 77: what it needs is not here.
set -u -o pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: workloads.sh FOLDER [MILLIONS]" >&2 && exit 2; }
mkdir -p "$1" || exit 1
here=$PWD dir=$(cd "$1" && pwd) millions=${2:-46}
leave_out() {
	echo "left out: the workloads; $*"
	exit 77
}
[ "$(uname -s)" = Linux ] || leave_out "they are recorded on Linux"
command -v gcc >/dev/null || leave_out "they need gcc"
# 4 and 24 bytes an event.
need=$((millions * 40 / 1000 + 1)) free=$(df --output=avail -k "$dir" | tail -n 1)
[ $((free / 1000000)) -ge $need ] || leave_out "they need $need GB in $dir"
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
for f in recorder/src/*.c recorder/src/*.S; do
	gcc -std=c99 -O2 -Irecorder/include -c "$f" -o "$build/logrec.$(basename "$f").o" || exit 1
done
# traced PROGRAM: scripts/bench/programs/PROGRAM.c with the recorder.
traced() {
	gcc -g -O2 -finstrument-functions -c "$here/scripts/bench/programs/$1.c" -o "$build/$1.o" &&
		gcc "$build/$1.o" "$build"/logrec.*.o -o "$build/$1" -pthread -ldl
}
traced graph && traced calls || exit 1
cd "$dir" || exit 1
rm -f w1.lptrace w2.lptrace w5.lptrace
LOGREC_FILE=$dir/w1.lptrace "$build/graph" "$millions" 2 >/dev/null &&
	LOGREC_FILE=$dir/w2.lptrace "$build/graph" "$millions" 16 >/dev/null &&
	LOGREC_FILE=$dir/w5.lptrace "$build/calls" "$millions" >/dev/null &&
	(cd "$here" && go run ./scripts/genlog -trace "$dir/w1.lptrace" "$dir/w4" >/dev/null) || exit 1
# What recorded programs are resolved with lies beside their traces.
cp "$build/graph" "$build/calls" "$dir" && cp "$build/graph" "$dir/w4"
