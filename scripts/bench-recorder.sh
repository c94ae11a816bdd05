#!/bin/bash
# bench-recorder.sh measures what recording a call costs: processor time (user
# and system, page faults included, to a complete file) of a program that calls
# a tiny function, with the recorder by each way in and with what others do.
#
#	scripts/bench-recorder.sh [ROUNDS]
#
# The programs run one after another, ROUNDS (7) times over. An event is half a
# call. What a call costs without hooks is taken off, but
# from the counter's reads, which make no call. uftrace's writer is a process
# of its own and is not counted.
#
# The table has ns an event, the median and the least of the rounds, the system's
# part (its median), bytes an event, the same times with two threads that record
# at a time, and the ratio of the medians to the recorder's ordinary way in. Lines
# that begin with "bar" compare with what the recorder has to keep to: the medians
# decide; behind them stands how the least of the rounds compare, which other work
# on the machine disturbs less. Lines of "graph" are of functions that call each other
# at random (scripts/bench/programs/graph.c), all others of the tiny one. At the end a trace of more than 4 GiB is recorded
# and read (scripts/bench/large-trace.sh).
#
# From the environment: BENCH_DIR, a folder to work in, on the disk to measure;
# BENCH_LARGE, million calls a thread of the large trace (290; 0: none).
set -u
cd "$(dirname "$0")/.."
rounds=${1:-7}
top=$PWD here=$PWD/recorder
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGREC_VALUES LOGPARSER_LOG LD_PRELOAD; do unset $v; done
export LC_ALL=C
. scripts/toolchains.sh

[ "$(uname -s)" = Linux ] || { echo "the recorder's benchmark is for Linux" && exit 77; }
command -v gcc >/dev/null || { echo "gcc is missing" && exit 77; }
version=$(clang_version)
clang=$(command -v "clang-${version:-none}" || command -v clang)

cd "$work" || exit 1
library() { # CC DIR
	mkdir -p "$2"
	(cd "$2" && "$1" -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$here/include" -c "$here"/src/*.c "$here"/src/*.S) && ar rcs "$2/liblogrec.a" "$2"/*.o &&
		"$1" -shared "$2"/*.o -o "$2/liblogrec.so" -ldl -pthread
}
compile() { "$1" -O2 $2 -I"$here/include" -c "$here/bench/$3" -o "$4"; } # CC FLAGS SOURCE OBJECT
link() { gcc bench.o "$@" -pthread -ldl; }

# name|program and its environment|file that is written|calls
table=()
add() { table+=("$1"); }
try() { "$@" || { echo "not built: $*" && return 1; }; }

try library gcc lib && compile gcc "" bench.c bench.o && compile gcc "" tiny.c tiny.o && link tiny.o -o none || exit 1
add "no hook|./none||30000000"
compile gcc "" counter.c counter.o && link counter.o -o counter && add "counter read, alone|./counter||10000000"
hooks=-finstrument-functions
try compile gcc $hooks tiny.c cyg.o && link cyg.o lib/liblogrec.a -o cyg && link cyg.o -o plain || exit 1
for h in COUNTER FPRINTF OPEN; do compile gcc -DHOOKS_$h hooks.c $h.o && link cyg.o $h.o -o $h || exit 1; done
add "counter read, hooks|./COUNTER||10000000"
add "trace, gcc|./cyg|*.lptrace|10000000"
if [ -n "$clang" ] && try library "$clang" clib && compile "$clang" $hooks tiny.c ccyg.o && link ccyg.o clib/liblogrec.a -o ccyg; then
	add "trace, clang|./ccyg|*.lptrace|10000000"
fi
add "trace, preloaded|env LD_PRELOAD=$work/lib/liblogrec.so ./plain|*.lptrace|10000000"
if [ "$(uname -m)" = x86_64 ]; then
	try compile gcc "-pg -mfentry -minstrument-return=call" tiny.c fentry.o && link fentry.o lib/liblogrec.a -o fentry &&
		add "trace, -mfentry|./fentry|*.lptrace|10000000"
	# Patched: the recorder is preloaded. The last two have the functions left out, and switched off.
	patched="env LOGREC_PATCH=1 LD_PRELOAD=$work/lib/liblogrec.so"
	if [ -n "$clang" ] && try compile "$clang" "-fxray-instrument -fxray-instruction-threshold=1" tiny.c xray.o && link xray.o -o xray; then
		add "trace, XRay patched|$patched ./xray|*.lptrace|10000000"
		add "trace, XRay left out|$patched LOGREC_INCLUDE=main ./xray||30000000"
	fi
	if [ -n "$clang" ] && try compile "$clang" "" xray_fdr.cpp fdr.o && try "$clang" -fxray-instrument bench.o xray.o fdr.o -pthread -o fdr; then
		add "XRay's own, fdr|./fdr|xray-log.*|2000000"
	fi
	try compile gcc "-fpatchable-function-entry=5" tiny.c nops.o && link nops.o -o nops &&
		add "trace, entries patched|$patched ./nops|*.lptrace|10000000" &&
		add "trace, entries off|$patched LOGREC=off ./nops||30000000"
	try compile gcc "-pg -mfentry -minstrument-return=call" tiny_values.c values.o && link values.o lib/liblogrec.a -Wl,--build-id -o values &&
		"$here/tests/values_plan.sh" "$here/bench/tiny_values.plan" values >values.lpvalues &&
		add "trace, values none|./values|*.lptrace|10000000" &&
		add "trace, values by plan|env LOGREC_VALUES=values.lpvalues ./values|*.lptrace|10000000" &&
		add "trace, raw values|env LOGREC_VALUES=raw ./values|*.lptrace|5000000"
fi
try compile g++ "-std=c++11 -DLOGPARSER_TRACE" tiny_object.cpp object.o && link object.o lib/liblogrec.a -lstdc++ -o object &&
	add "trace, object|./object|*.lptrace|10000000"
try compile gcc "-DVALUES" tiny_api.c api_values.o && link api_values.o lib/liblogrec.a -o api_values && add "trace, C API, values|./api_values|*.lptrace|10000000"
try compile gcc "" tiny_api.c api.o && link api.o lib/liblogrec.a -o api && add "trace, C API|./api|*.lptrace|10000000"
add "trace, call sites|env LOGREC_SITES=1 ./cyg|*.lptrace|5000000"
add "trace, short dropped|env LOGREC_MIN=1ms ./cyg|*.lptrace|5000000"
add "trace, ring of 1 MB|env LOGREC=ring:1 ./cyg||10000000"
add "trace, off|env LOGREC=off ./cyg||30000000"
try compile g++ "-std=c++11" tiny_object.cpp classic.o && link classic.o -lstdc++ -lrt -o classic && add "classic|./classic|LogDetails*.dat|200000"
add "fprintf|./FPRINTF|log.txt|1000000"
add "fopen, fwrite, fclose|./OPEN|log.dat|50000"
if command -v uftrace >/dev/null; then
	record="uftrace record --no-libcall --no-event -b 64m -d ud"
	add "uftrace, hooks|$record ./plain|ud/*.dat|1000000"
	compile gcc -pg tiny.c pg.o && gcc -pg bench.o pg.o -pthread -o pg && add "uftrace, -pg|$record ./pg|ud/*.dat|1000000"
	if [ "$(uname -m)" = x86_64 ]; then
		compile gcc "-fpatchable-function-entry=5" tiny.c upatched.o && link upatched.o -o upatched && add "uftrace, -P .|$record -P . ./upatched|ud/*.dat|1000000"
		compile gcc "-pg -mfentry" tiny.c pgf.o && gcc -pg bench.o pgf.o -pthread -o pgf && add "uftrace, -mfentry|$record ./pgf|ud/*.dat|1000000"
	fi
else
	echo "left out: uftrace, which is not here"
fi

# Probes of the kernel, which takes them from root alone; calls of all functions, their ends at each return instruction.
if [ "$(id -u)" = 0 ] && (cd "$top" && CGO_ENABLED=0 go build -o "$work/logparse" ./cmd/logparse) && ./logparse record -q --head 0 --probe tiny -o probed ./none 1000 1 >/dev/null 2>&1; then
	add "uprobes|./logparse record -q --head 0 --probe tiny -o probed ./none|probed/*.lptrace|100000"
	uprobes=1
else
	echo "left out: uprobes, for which root, go and a kernel with BPF are needed"
fi
# The same with functions that call each other at random. What no hooks cost comes first.
graph=$top/scripts/bench/programs/graph.c
graph() { "$1" -O2 -DBENCH $2 -c "$graph" -o "graph_$3.o" && link "graph_$3.o" "${@:4}" -o "graph_$3"; } # CC FLAGS NAME LIBRARY...
try graph gcc -DCOUNT count && try graph gcc "" none && try graph gcc $hooks cyg lib/liblogrec.a || exit 1
add "graph, no hook|./graph_none||8000000"
add "graph, hooks|./graph_cyg|*.lptrace|4000000"
if [ "$(uname -m)" = x86_64 ]; then
	try graph gcc "-pg -mfentry -minstrument-return=call" fentry lib/liblogrec.a && add "graph, -mfentry|./graph_fentry|*.lptrace|4000000"
	if [ -n "$clang" ] && try graph "$clang" "-fxray-instrument -fxray-instruction-threshold=1" xray; then
		add "graph, XRay patched|$patched ./graph_xray|*.lptrace|4000000"
		try "$clang" -fxray-instrument bench.o graph_xray.o fdr.o -pthread -o graph_fdr && add "graph, XRay's own, fdr|./graph_fdr|xray-log.*|2000000"
	fi
	try graph gcc -fpatchable-function-entry=5 nops && add "graph, entries patched|$patched ./graph_nops|*.lptrace|4000000" &&
		add "graph, entries off|$patched LOGREC=off ./graph_nops||8000000" &&
		command -v uftrace >/dev/null && add "graph, uftrace -P .|$record -P . ./graph_nops|ud/*.dat|1000000"
	[ -z "${uprobes-}" ] || add "graph, uprobes|./logparse record -q --head 0 --probe f??? -o probed ./graph_none|probed/*.lptrace|100000"
fi
# ratio CALLS: how many calls the graph makes for one that it is asked for.
declare -A ratios
ratio() {
	[ -n "${ratios[$1]-}" ] || ratios[$1]=$(./graph_count "$1" 1 | sed -n 2p | awk -v asked="$1" '{ print $1 / asked }')
}

clean() { rm -rf probed xray-log.* ./*.lptrace LogDetails* log.txt log.dat ud ud.old gmon.out; }
for ((r = 0; r < rounds; r++)); do
	for i in "${!table[@]}"; do
		IFS='|' read -r name command files calls <<<"${table[$i]}"
		for threads in 1 2; do
			clean
			result=$($command "$calls" $threads 2>/dev/null | tail -n 1)
			bytes=0
			[ -n "$files" ] && bytes=$(cat $files 2>/dev/null | wc -c)
			by=1
			case $name in graph*) ratio "$calls" && by=${ratios[$calls]} ;; esac
			awk -v by="$by" '{ print $1 / by, $2 / by, $3 / by }' <<<"$result $bytes" >>"times.$i.$threads"
		done
	done
done
clean

# Bytes of event records an event of LogTest, by the hooks of gcc.
logtest=
if command -v g++ >/dev/null && "$here/tests/trace_linux.sh" logtest linux-gcc-hooks-O2 >logtest.log 2>&1 &&
	g++ -std=c++11 -O1 "$here/tests/trace_dump.cpp" -o trace_dump; then
	logtest=$(./trace_dump logtest/linux-gcc-hooks-O2/LogDetails.lptrace | grep -oE '[0-9.]+ bytes an event' | head -n 1 | cut -d ' ' -f 1)
fi
[ -n "$logtest" ] || echo "left out: LogTest, which did not build"

median() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
least() { awk -v c="$2" 'NR == 1 || $c < v { v = $c } END { print v }' "$1"; }
echo "$rounds rounds, $(nproc) cores, $(uname -sr), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(df --output=fstype . | tail -n 1), load $(cut -d ' ' -f 1-3 /proc/loadavg)"
for i in "${!table[@]}"; do
	IFS='|' read -r name command files calls <<<"${table[$i]}"
	echo "$name|$(median times.$i.1 1)|$(least times.$i.1 1)|$(median times.$i.1 2)|$(median times.$i.2 1)|$(least times.$i.2 1)|$(median times.$i.1 3)|$calls"
done | awk -F'|' -v logtest="$logtest" '
	NR == 1 || $1 == "graph, no hook" { bare = $2; bareLeast = $3 }
	{
		name[NR] = $1; at[$1] = NR; less = NR > 2 && $1 != "graph, no hook" ? bare : 0; leastLess = less ? bareLeast : 0
		median[NR] = ($2 - less) / 2; one[NR] = ($3 - leastLess) / 2; sys[NR] = $4 / 2
		median2[NR] = ($5 - less) / 2; two[NR] = ($6 - leastLess) / 2; bytes[NR] = $7 / $8 / 2
	}
	END {
		t = at["trace, gcc"]
		printf "%-24s %10s %9s %8s %8s %10s %9s %8s\n", "", "ns/event", "least", "system", "B/event", "2 threads", "least", "ratio"
		for (i = 1; i <= NR; i++)
			printf "%-24s %10.2f %9.2f %8.2f %8.2f %10.2f %9.2f %8.2f\n", name[i], median[i], one[i], sys[i], bytes[i], median2[i], two[i], median[i] / median[t]
		print "bars: the median of the rounds decides, the least stands behind it"
		c = at["counter read, alone"]
		most("ns: counter read + 4.5", median[t], median[c] + 4.5, one[t], one[c] + 4.5)
		if (k = at["trace, clang"]) most("the same, clang", median[k], median[c] + 4.5, one[k], one[c] + 4.5)
		if (logtest != "") printf "bar %-32s %8.2f of %7.2f %s\n", "bytes an event of LogTest", logtest, 6, (logtest <= 6) ? "met" : "MISSED"
		most("a second thread, times", median2[t] / median[t], 1.1, two[t] / one[t], 1.1)
		a = at["fopen, fwrite, fclose"]
		least("fopen, fwrite, fclose, times", median[a] / median[t], 250, one[a] / one[t])
		printf "    at %.1f ns for the counter alone no recorder could have more than %.0f\n", median[c], median[a] / median[c]
		for (i = 1; i <= NR; i++)
			if (name[i] ~ /^uftrace/) {
				if (!u || median[i] < u) u = median[i]
				if (!v || one[i] < v) v = one[i]
			}
		if (v1 = at["trace, values by plan"]) {
			v0 = at["trace, values none"]
			most("ns a call: two ints, a result", 2 * (median[v1] - median[v0]), 12, 2 * (one[v1] - one[v0]), 12)
		}
		if ((a1 = at["trace, C API, values"]) && (a0 = at["trace, C API"])) most("ns a call: LOGREC_ARGS of two", 2 * (median[a1] - median[a0]), 5, 2 * (one[a1] - one[a0]), 5)
		if ((x = at["trace, XRay patched"]) && (f = at["trace, -mfentry"])) most("ns: XRay sleds over -mfentry", median[x] - median[f], 4, one[x] - one[f], 4)
		if (o = at["trace, entries off"]) most("ns a call: patched, switched off", 2 * median[o], 1, 2 * one[o], 1)
		if ((x = at["graph, XRay patched"]) && (f = at["graph, -mfentry"])) most("graph, ns: XRay over -mfentry", median[x] - median[f], 4, one[x] - one[f], 4)
		if (o = at["graph, entries off"]) most("graph, ns a call: switched off", 2 * median[o], 1, 2 * one[o], 1)
		if (u) least("uftrace, cheapest way in, times", u / median[t], 2.5, v / one[t])
	}
	function most(what, is, limit, l, leastLimit) {
		printf "bar %-32s %8.2f of %7.2f %-6s (least %.2f of %.2f)\n", what, is, limit, (is <= limit) ? "met" : "MISSED", l, leastLimit
	}
	function least(what, is, limit, l) {
		printf "bar %-32s %8.2f of %7.2f %-6s (least %.2f)\n", what, is, limit, (is >= limit) ? "met" : "MISSED", l
	}'

[ "${BENCH_LARGE:-290}" = 0 ] || { cd "$top" && scripts/bench/large-trace.sh "${BENCH_LARGE:-290}" 2; }
