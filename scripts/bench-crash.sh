#!/bin/bash
# bench-crash.sh measures how long the recorder's handler keeps a program that crashes.
#
#	scripts/bench-crash.sh [ROUNDS]
#
# Each cause of a crash is tried ROUNDS (21) times with the handler and without it, in turns, with little stack in use and a small log, and with
# 1 MiB of stack and a log of two million calls, for whose record there is more room. The time goes from the fault to a handler of the program's own,
# which the recorder's hands the signal on to. The table has the medians with the handler, what of that is the handler's (less the median without it), and the
# longest of all rounds; microseconds by the clock, and of processor time. The last line holds the medians of the handler's time against 1 ms.
set -u
cd "$(dirname "$0")/.."
rounds=${1:-21}
here=$PWD/recorder
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
for v in LOGREC LOGREC_FILE LOGREC_CRASH LOGREC_REPORT LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGREC_VALUES LD_PRELOAD; do unset $v; done
export LC_ALL=C
ulimit -c 0
[ "$(uname -s)" = Linux ] || { echo "the recorder's benchmark is for Linux" && exit 77; }
command -v g++ >/dev/null || { echo "g++ is missing" && exit 77; }

mkdir "$work/lib"
(cd "$work/lib" && gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$here/include" -c "$here"/src/*.c "$here"/src/*.S && ar rcs liblogrec.a ./*.o) &&
	g++ -std=c++11 -O1 -finstrument-functions "$here/bench/crash.cpp" "$work/lib/liblogrec.a" -pthread -ldl -o "$work/crash" 2>"$work/errors" || { cat "$work/errors" && exit 1; }
export LOGREC_FILE=$work/log.lptrace

causes="null code far call divide abort pure throw free raise kill sys overflow bus"
[ "$(uname -m)" != x86_64 ] || causes="$causes privileged illegal breakpoint"
echo "cause       small: clock    own    max   processor    own   large: clock    own    max   processor    own"
for cause in $causes; do
	for size in "16 1000" "1000000 2000000"; do
		for ((i = 0; i < rounds; i++)); do
			for mode in off first; do
				rm -f "$work"/log*
				# shellcheck disable=SC2086 # two arguments
				echo "$mode $(LOGREC_CRASH=$mode "$work/crash" "$cause" $size 2>/dev/null)"
			done
		done >"$work/times"
		awk '
			function median(list, n,  i, j, t) {
				for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j] < list[j - 1]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
				return list[int((n + 1) / 2)]
			}
			$1 == "off" { a[++na] = $2; p[na] = $3 }
			$1 == "first" { b[++nb] = $2; q[nb] = $3; if ($2 > most) most = $2 }
			END { w = median(b, nb); c = median(q, nb)
				printf "%.0f %.0f %.0f %.0f %.0f\n", w / 1000, (w - median(a, na)) / 1000, most / 1000, c / 1000, (c - median(p, na)) / 1000 }' "$work/times"
	done | paste -sd ' ' | { read -r a b c d e f g h i j && printf '%-11s %12d %6d %6d %11d %6d %14d %6d %6d %11d %6d\n' "$cause" "$a" "$b" "$c" "$d" "$e" "$f" "$g" "$h" "$i" "$j"; }
done | tee "$work/table"
awk '{ if ($3 > most) most = $3; if ($8 > most) most = $8 } END { printf "bar 1 ms: at most %d us, %s\n", most, most <= 1000 ? "kept" : "missed"; exit most > 1000 }' "$work/table"
