#!/bin/bash
# real-program.sh records a program that was not written for it: the Lua
# interpreter of the distribution's source package, built with gcc
# -finstrument-functions and run with scripts/bench/real-program.lua.
#
#	scripts/bench/real-program.sh [ROUNDS]
#
# It runs plain, with hooks that go nowhere, with the recorder preloaded and
# linked, and under uftrace, ROUNDS (5) times in turn. Its output must be the
# same each time, every row must have its name, and the recorder's calls of each
# function must be uftrace's. Printed are the processor time (median; user and
# system, uftrace's writer included), events, bytes an event, and which functions
# cost most to record. The sums of its calls (`logparse stats`, the log new to it) are timed beside `uftrace report`.
#
# Then it runs once more with errors and coroutines, which leave functions by
# longjmp: no hook is called for those. The output must again be the same, and
# the calls without a leave be noted as such.
#
# The source comes by apt-get from the archives that this system installs from,
# and is kept in build/bench/real. Exit status 77: it cannot be had.
set -u
cd "$(dirname "$0")/../.."
rounds=${1:-5} package=lua5.4
here=$PWD/recorder dir=$PWD/build/bench/real script=$PWD/scripts/bench/real-program.lua
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done
export LC_ALL=C CGO_ENABLED=0
leave_out() {
	echo "left out: the real program; $*"
	exit 77
}
[ "$(uname -s)" = Linux ] || leave_out "it is for Linux"
command -v gcc >/dev/null || leave_out "it needs gcc"

why=$(scripts/debian-source.sh $package "$dir/source" lua 2>&1) || leave_out "$why"
echo "real program: $package $(sed -n 's/^Version: //p' "$dir"/source/*.dsc | head -n 1)"

# The package's rules make this header, which has the folder of libraries.
echo '#define DEB_HOST_MULTIARCH "."' >"$dir/source/lua/src/lua5.4-deb-multiarch.h"

# build NAME FLAGS LINK. Lua takes hash seeds and pivots from the clock and from
# addresses; it is asked not to, so that each run makes the same calls.
build() {
	local f o=
	mkdir -p "$dir/$1.o"
	for f in "$dir"/source/lua/src/*.c; do
		[ "$(basename "$f")" = luac.c ] && continue
		o="$o $dir/$1.o/$(basename "$f" .c).o"
		[ "$dir/$1.o/$(basename "$f" .c).o" -nt "$f" ] ||
			gcc -std=gnu99 -g -O2 -DLUA_USE_LINUX -DLUA_COMPAT_5_3 '-Dluai_makeseed(state)=42u' '-Dl_randomizePivot()=0u' $2 -c "$f" -o "$dir/$1.o/$(basename "$f" .c).o" || return 1
	done
	gcc $o $3 -Wl,-E -lm -ldl -pthread -o "$dir/$1"
}
mkdir -p "$dir/lib"
rm -f "$dir"/lib/*
(cd "$dir/lib" && gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$here/include" -c "$here"/src/*.c "$here"/src/*.S) || exit 1
ar rcs "$dir/lib/liblogrec.a" "$dir"/lib/*.o && gcc -shared "$dir"/lib/*.o -o "$dir/lib/liblogrec.so" -ldl -pthread || exit 1
hooks=-finstrument-functions
{ build plain "" "" && build hooked $hooks "" && build linked $hooks "$dir/lib/liblogrec.a"; } >"$dir/build.log" 2>&1 || {
	cat "$dir/build.log"
	exit 1
}
go build -trimpath -o "$dir/logparse" ./cmd/logparse || exit 1

cd "$dir" || exit 1
work=12
# measure NAME COMMAND...: appends the processor time in ms to ms.NAME.
measure() {
	local name=$1
	shift
	rm -rf trace.lptrace ud ud.old
	# A shell's own children are all that its time counts.
	LOGREC_FILE=trace.lptrace bash -c 'TIMEFORMAT="%U %S"; time "$@"' bash "$@" "$script" $arguments >"out.$name" 2>"time.$name" || return 1
	awk '/^[0-9.]+ [0-9.]+$/ { print ($1 + $2) * 1000 }' "time.$name" >>"ms.$name"
}
run() { # WAY
	case $1 in
	preloaded) measure $1 env "LD_PRELOAD=$dir/lib/liblogrec.so" ./hooked ;;
	uftrace) measure $1 uftrace record --no-libcall --no-event -b 64m -d ud ./hooked ;;
	*) measure $1 "./$1" ;;
	esac || { cat "time.$1" && exit 1; }
	cmp "out.plain" "out.$1" || { echo "the output with $1 is another" && exit 1; }
}
median() { sort -n "ms.$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
# sense TRACE: counts events, calls of each function (calls.ours), rows without
# a name, and notes.
sense() {
	./logparse save "$1" -o kept.csv 2>save.log || { cat save.log && exit 1; }
	head -n 1 kept.csv | tr ',' '\n' >columns
	awk -F, -v f="$(column function)" -v e="$(column event)" -v n="$(column note)" '
		NR > 1 { if ($e == "enter") count[$f]++; if ($f ~ /^0x/ || $f == "") bare++; if ($n != "" && $e == "enter") notes[$n]++ }
		END {
			for (k in count) print count[k], k >"calls.ours"
			printf "%d events, %d functions, rows without a name: %d", NR - 1, length(count), bare
			for (k in notes) printf ", calls with the note \"%s\": %d", k, notes[k]
			print ""
			exit bare > 0
		}' kept.csv || exit 1
}
column() { grep -n -m 1 "^$1" columns | cut -d : -f 1; }
# beside TRACE: the calls of each function that uftrace has in ud.
beside() {
	uftrace report -d ud -f call 2>/dev/null | awk 'NF == 2 && $1 ~ /^[0-9]+$/' >calls.uftrace
	awk 'NR == FNR { n[$2] = $1; u += $1; next }
		{ c += $1; if (n[$2] == $1) same++; else if (++other <= 5) different = different sprintf("\n  %s: %d calls, uftrace has %d", $2, $1, n[$2]) }
		END { printf "%d calls, uftrace has %d; functions of which both have as many: %d of %d%s\n", c, u, same, FNR, different; exit other > 0 }' \
		calls.uftrace calls.ours
}

# reading compares what it takes to say what each function cost, of the last run of either: seconds by the clock and of CPU,
# the log new to logparse, ROUNDS times in turn.
reading() {
	local r
	cat ud/*.dat kept.lptrace >/dev/null
	rm -f report.*
	for ((r = 0; r < rounds; r++)); do
		rm -rf cache
		seconds report.theirs uftrace report -d ud && seconds report.ours env "XDG_CACHE_HOME=$dir/cache" ./logparse stats kept.lptrace || return 1
	done
	rm -rf cache
	echo "$(middle report.theirs) $(middle report.ours)" | awk '{
		printf "uftrace report %.2f s (CPU %.2f), logparse stats, new, %.2f s (CPU %.2f): %.1f times by the clock, %.1f by CPU; bars 10 and 6\n", $1, $2, $3, $4, $1 / $3, $2 / $4 }'
}
# seconds FILE COMMAND... appends seconds by the clock and of CPU.
seconds() {
	local file=$1 TIMEFORMAT='%R %U %S'
	shift
	{ time "$@" >/dev/null 2>err.txt; } 2>time.txt || { cat err.txt && return 1; }
	awk '{ print $1, $2 + $3 }' time.txt >>"$file"
}
# middle FILE: the medians of both columns.
middle() { for c in 1 2; do cut -d ' ' -f $c "$1" | sort -n | awk '{ v[NR] = $1 } END { printf "%s ", v[int((NR + 1) / 2)] }'; done; }

ways="plain hooked preloaded linked"
command -v uftrace >/dev/null && ways="$ways uftrace" || echo "left out: uftrace, which is not here"
rm -f ms.* out.*
arguments=$work
for ((r = 0; r < rounds; r++)); do
	for way in $ways; do
		run $way
		[ $way != linked ] || mv trace.lptrace kept.lptrace
	done
done
echo "output: sha256 $(sha256sum <out.plain | cut -c 1-16), the same by every way"
sense kept.lptrace
events=$(($(wc -l <kept.csv) - 1)) size=$(stat -c %s kept.lptrace)
printf '%-12s %10s %12s %10s\n' "" "CPU ms" "ns an event" "times"
for way in $ways; do
	awk -v n=$way -v ms="$(median $way)" -v b="$(median plain)" -v e="$events" 'BEGIN {
		printf "%-12s %10.0f %12s %10.2f\n", n, ms, n == "plain" ? "-" : sprintf("%.1f", (ms - b) * 1e6 / e), ms / b }'
done
awk -v s="$size" -v e="$events" 'BEGIN { printf "%d bytes, %.2f bytes an event\n", s, s / e }'
status=0
[ ! -d ud ] || beside || status=1
[ ! -d ud ] || reading || status=1
./logparse advise kept.lptrace 2>/dev/null | head -n 10

arguments="2 jumps"
for way in $ways; do
	run $way
	[ $way != linked ] || mv trace.lptrace kept.lptrace
done
echo "with longjmp: output: sha256 $(sha256sum <out.plain | cut -c 1-16), the same by every way"
sense kept.lptrace
# uftrace keeps frames that were left so for open ones, and stops at the depth
# that it has room for.
[ ! -d ud ] || beside | head -n 1
rm -rf kept.csv kept.lptrace ud trace.lptrace
exit $status
