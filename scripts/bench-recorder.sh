#!/bin/bash
# bench-recorder.sh measures what recording a call costs: processor time (user
# and system, page faults included, to a complete file) of a program that calls
# a tiny function, with the recorder by each way in and with what others do.
#
#	scripts/bench-recorder.sh [ROUNDS]
#
# The programs run one after another, ROUNDS (7) times over; the median counts.
# The table has ns and bytes an event (a call is two), the same for two threads
# at a time, and the ratio to the recorder's ordinary way. A call alone, without
# hooks, is taken off. Lines that begin with "bar" compare with what the
# recorder has to keep to.
set -u
cd "$(dirname "$0")/.."
rounds=${1:-7}
here=$PWD/recorder
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGPARSER_LOG LD_PRELOAD; do unset $v; done
export LC_ALL=C
. scripts/toolchains.sh

command -v gcc >/dev/null || { echo "gcc is missing" && exit 77; }
version=$(clang_version)
clang=$(command -v "clang-${version:-none}" || command -v clang)

cd "$work" || exit 1
sources="core control platform_linux modules_linux interpose_linux hooks_cyg hooks_fentry"
library() { # CC DIR
	mkdir -p "$2"
	for f in $sources; do "$1" -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$here/include" -c "$here/src/$f.c" -o "$2/$f.o" || exit 1; done
	"$1" -c "$here/src/hooks_fentry_x86_64.S" -o "$2/fentry.o" && ar rcs "$2/liblogrec.a" "$2"/*.o &&
		"$1" -shared "$2"/*.o -o "$2/liblogrec.so" -ldl -pthread
}
library gcc lib
gcc -O2 -c "$here/bench/bench.c" -o bench.o || exit 1
tiny() { "$1" -O2 $2 -c "$here/bench/tiny.c" -o "$3"; }
link() { gcc bench.o "$@" -pthread -ldl; }

# name|program and its environment|file that is written|calls
table=()
add() { table+=("$1"); }
tiny gcc "" tiny.o && link tiny.o -o none && add "no hook|./none||30000000"
tiny gcc -finstrument-functions cyg.o
for h in COUNTER FPRINTF OPEN; do gcc -O2 -DHOOKS_$h -c "$here/bench/hooks.c" -o $h.o && link cyg.o $h.o -o $h; done
add "counter read|./COUNTER||10000000"
link cyg.o lib/liblogrec.a -o cyg
add "trace, gcc|./cyg|*.lptrace|10000000"
if [ -n "$clang" ]; then
	library "$clang" clib
	tiny "$clang" -finstrument-functions ccyg.o && link ccyg.o clib/liblogrec.a -o ccyg
	add "trace, clang|./ccyg|*.lptrace|10000000"
fi
link cyg.o -o plain
add "trace, preloaded|env LD_PRELOAD=$work/lib/liblogrec.so ./plain|*.lptrace|10000000"
if [ "$(uname -m)" = x86_64 ]; then
	tiny gcc "-pg -mfentry -minstrument-return=call" fentry.o && link fentry.o lib/liblogrec.a -o fentry
	add "trace, -mfentry|./fentry|*.lptrace|10000000"
fi
g++ -O2 -std=c++11 -DLOGPARSER_TRACE -I"$here/include" -c "$here/bench/tiny_object.cpp" -o object.o && link object.o lib/liblogrec.a -lstdc++ -o object
add "trace, object|./object|*.lptrace|10000000"
add "trace, call sites|env LOGREC_SITES=1 ./cyg|*.lptrace|5000000"
add "trace, short dropped|env LOGREC_MIN=1ms ./cyg|*.lptrace|5000000"
add "trace, ring of 1 MB|env LOGREC=ring:1 ./cyg||10000000"
add "trace, off|env LOGREC=off ./cyg||30000000"
g++ -O2 -std=c++11 -I"$here/include" -c "$here/bench/tiny_object.cpp" -o classic.o && link classic.o -lstdc++ -lrt -o classic
add "classic|./classic|LogDetails*.dat|200000"
add "fprintf|./FPRINTF|log.txt|1000000"
add "open, write, close|./OPEN|log.dat|50000"
if command -v uftrace >/dev/null; then
	tiny gcc -pg pg.o && gcc -pg bench.o pg.o -pthread -o pg 2>/dev/null
	add "uftrace, hooks|uftrace record --no-libcall --no-event -b 64m -d ud ./plain|ud/*.dat|1000000"
	add "uftrace, -pg|uftrace record --no-libcall --no-event -b 64m -d ud ./pg|ud/*.dat|1000000"
fi

clean() { rm -rf ./*.lptrace LogDetails* log.txt log.dat ud ud.old gmon.out; }
for ((r = 0; r < rounds; r++)); do
	for i in "${!table[@]}"; do
		IFS='|' read -r name command files calls <<<"${table[$i]}"
		for threads in 1 2; do
			clean
			result=$($command "$calls" $threads 2>/dev/null | tail -n 1)
			bytes=0
			[ -n "$files" ] && bytes=$(cat $files 2>/dev/null | wc -c)
			echo "$result $bytes" >>"times.$i.$threads"
		done
	done
done
clean

median() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
bare=$(median times.0.1 1)
echo "$rounds rounds, $(nproc) cores, $(uname -sr), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), load $(cut -d ' ' -f 1-3 /proc/loadavg)"
for i in "${!table[@]}"; do
	IFS='|' read -r name command files calls <<<"${table[$i]}"
	echo "$name|$(median times.$i.1 1)|$(median times.$i.1 2)|$(median times.$i.2 1)|$(median times.$i.1 3)|$calls"
done | awk -F'|' -v bare="$bare" '
	{ name[NR] = $1; one[NR] = ($2 - bare) / 2; sys[NR] = $3 / 2; two[NR] = ($4 - bare) / 2; bytes[NR] = $5 / $6 / 2; at[$1] = NR }
	END {
		t = at["trace, gcc"]
		printf "%-22s %10s %8s %8s %10s %8s\n", "", "ns/event", "system", "B/event", "2 threads", "ratio"
		for (i = 1; i <= NR; i++) {
			if (i == 1) printf "%-22s %10s %8s %8s %10s %8s\n", name[i], "-", "-", "-", "-", "-"
			else printf "%-22s %10.2f %8.2f %8.2f %10.2f %8.2f\n", name[i], one[i], sys[i], bytes[i], two[i], one[i] / one[t]
		}
		c = one[at["counter read"]]
		bar("counter read + 4.5 ns an event", one[t], c + 4.5, one[t] <= c + 4.5)
		bar("6 bytes an event", bytes[t], 6, bytes[t] <= 6)
		bar("a second thread, times", two[t] / one[t], 1.1, two[t] <= 1.1 * one[t])
		bar("open, write, close, times", one[at["open, write, close"]] / one[t], 250, one[at["open, write, close"]] >= 250 * one[t])
		u = at["uftrace, hooks"] ? one[at["uftrace, hooks"]] : 0
		if (at["uftrace, -pg"] && one[at["uftrace, -pg"]] < u) u = one[at["uftrace, -pg"]]
		if (u) bar("uftrace, cheapest way in, times", u / one[t], 2.5, u >= 2.5 * one[t])
	}
	function bar(what, is, limit, ok) { printf "bar %-32s %8.2f of %7.2f %s\n", what, is, limit, ok ? "kept" : "MISSED" }'
