#!/bin/bash
# value-cost.sh measures what values add to the cost of a recorded call: two integers and a result by a plan, and
# LOGREC_ARGS of two integers.
#
#	scripts/bench/value-cost.sh [ROUNDS]
#
# A program runs with values and without, one after the other and the other way round in turns, ROUNDS (15) times; of each
# run the processor time a call counts, user and system, page faults included. "ring" is a ring buffer of 1 MB, which
# stays in the cache; "file" a complete log. What is added is the difference of the medians, of the least, and the median of
# the rounds' differences. Lines that begin with "bar" compare the first with what is asked for. Fifteen rounds take
# about two minutes on an idle machine. Exit status 77: what it needs is not here; 1: something was not measured, because a
# program failed, or took no values: then its log is not larger.
#
# From the environment: BENCH_DIR, a folder for the logs; CALLS a run (10,000,000).
set -u
bars=
cd "$(dirname "$0")/../.."
rounds=${1:-15} calls=${CALLS:-10000000} rec=$PWD/recorder
if [ "$(uname -sm)" != "Linux x86_64" ] || ! command -v gcc >/dev/null; then
	echo "left out: the cost of values; it needs gcc on Linux, x86-64"
	exit 77
fi
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGREC_VALUES LD_PRELOAD; do unset $v; done
mkdir "$work/lib" && cd "$work/lib" &&
	gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$rec/include" -c "$rec"/src/*.c "$rec"/src/*.S && ar rcs liblogrec.a ./*.o && cd .. &&
	gcc -O2 -c "$rec/bench/bench.c" || exit 1
program() { gcc -O2 $1 -I"$rec/include" "$rec/bench/$2" bench.o lib/liblogrec.a -Wl,--build-id -o "$3" -pthread -ldl || exit 1; } # FLAGS SOURCE NAME
program "-pg -mfentry -minstrument-return=call" tiny_values.c values
program "" tiny_api.c api
program -DVALUES tiny_api.c api_values
"$rec/tests/values_plan.sh" "$rec/bench/tiny_values.plan" values >values.lpvalues || exit 1

# run NAME COMMAND...: processor time a call, and bytes of the log a call.
run() {
	local name=$1 ns
	shift
	rm -f ./*.lptrace
	ns=$(env "$@" "$calls" 1 2>errors | tail -n 1 | cut -d ' ' -f 1)
	if ! [[ $ns =~ ^[0-9]+\.[0-9]+$ ]] || [[ $ns =~ ^[0.]+$ ]]; then
		echo "$name was not measured: \"$ns\" ns a call: $(tail -n 1 errors)" >&2
		exit 1
	fi
	echo "$ns $(cat ./*.lptrace | wc -c)" >>"times.$name"
	rm -f ./*.lptrace
}
for ((r = 0; r < rounds; r++)); do
	for to in ring file; do
		ring=LOGREC=$([ $to = file ] || echo ring:1)
		order="none with"
		((r % 2)) && order="with none"
		for values in $order; do
			plan=$([ $values = none ] || echo values.lpvalues)
			run plan.$to.$values "$ring" LOGREC_VALUES="$plan" ./values
			run args.$to.$values "$ring" "./api$([ $values = none ] || echo _values)"
		done
	done
done

echo "what values add to a call: $rounds rounds, $calls calls each, $(nproc) cores, $(uname -sr), $(df --output=fstype . | tail -n 1), load $(cut -d ' ' -f 1-3 /proc/loadavg)"
printf '%-26s %8s %8s %8s %8s %8s %8s %8s\n' "ns a call" without least with least added rounds bytes
middle() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for what in plan args; do
	for to in ring file; do
		without=times.$what.$to.none with=times.$what.$to.with
		if [ $to = file ] && ! paste -d ' ' "$without" "$with" | awk -v c="$calls" '$4 - $2 < c { few = 1 } END { exit few }'; then
			echo "$what took no values: a log with them is not larger by a byte a call" >&2
			exit 1
		fi
		a=$(middle <"$without") b=$(middle <"$with") la=$(sort -n "$without" | head -n 1) lb=$(sort -n "$with" | head -n 1)
		between=$(paste -d ' ' "$without" "$with" | awk '{ print $3 - $1 }' | middle)
		awk -v w="$what, $to" -v a="$a" -v b="$b" -v la="${la% *}" -v lb="${lb% *}" -v r="$between" -v bytes="$(awk -v c="$calls" 'NR == FNR { o = $2; next } { n = $2 } END { printf "%.1f", (n - o) / c }' "$without" "$with")" \
			'BEGIN { printf "%-26s %8.2f %8.2f %8.2f %8.2f %8.2f %8.2f %8s\n", w, a, la, b, lb, b - a, r, bytes }'
		[ $to = file ] || continue
		most=12 name="two ints and a result by a plan"
		[ $what = plan ] || most=5 name="LOGREC_ARGS of two ints"
		bars+=$(awk -v n="$name" -v a="$a" -v b="$b" -v la="${la% *}" -v lb="${lb% *}" -v m=$most \
			'BEGIN { printf "bar %-34s %8.2f of %7.2f %-6s (least %.2f)", n, b - a, m, b - a <= m ? "met" : "MISSED", lb - la }')$'\n'
	done
done
printf %s "$bars"
