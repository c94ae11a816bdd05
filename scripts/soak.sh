#!/bin/bash
# soak.sh runs the tests that take hours and tells at the end how each went.
#
#	scripts/soak.sh SECONDS [ROUNDS] [PACKAGE...]
#
# First every fuzz target of the module (or of the packages given) is fuzzed
# for SECONDS, two at a time, then every fault test runs ROUNDS rounds (none if
# 0): among them the command is given ROUNDS * 2 damaged inputs of each kind, and inputs that say how much work they
# are, of which time, memory and the end after Ctrl+C are measured (cmd/logparse). Without packages and with ROUNDS recorder and reader come last: ROUNDS / 10
# recording programs are ended by force on Linux, ROUNDS / 100 under wine, each crash in each
# place is tried ROUNDS / 100 times, ROUNDS / 100 generated functions are recorded with values by each compiler that is there in each of its ways, ROUNDS * 1000 calls are recorded with pointers to anything, two
# threads record 100 million events each, which are read again, and a log of a
# billion records (16 GB) is read where the disk has room for it, and the window is clicked and typed into
# at random for five minutes in each language.
#
# What is done is noted in build/soak/done: a run that was broken off goes on
# where it stopped. When all is done the next run begins anew, and so does
# SOAK=new scripts/soak.sh.
#
# The table of targets (inputs tried, inputs kept for new coverage, findings)
# is left in build/soak.txt, the whole output of each in build/soak. An input
# that breaks a target is in the package's testdata/fuzz folder, as
# "go test -fuzz" leaves it.
set -u
cd "$(dirname "$0")/.."

seconds=${1:-600} rounds=${2:-10000}
shift $(($# < 2 ? $# : 2))
out=$PWD/build/soak
settings="$seconds $rounds $*"
if [ "${SOAK:-}" = new ] || [ ! -e "$out/settings" ] || [ "$(cat "$out/settings")" != "$settings" ]; then
	rm -rf "$out"
fi
mkdir -p "$out"
echo "$settings" >"$out/settings"
touch "$out/done"
export CGO_ENABLED=0 LC_ALL=C.UTF-8 seconds rounds out

if [ $# -gt 0 ]; then
	dirs=$*
else
	dirs=$(grep -rlE --include='*_test.go' '^func Fuzz[A-Z0-9_]' . | grep -v '^./build/' | xargs -r -n 1 dirname | sort -u)
fi

# soak_one DIR:TARGET fuzzes one target and notes how it went:
# ok|FAIL|broken, the target, tries, kept inputs, seconds, finding.
soak_one() {
	local dir=${1%:*} target=${1#*:} log status start tries kept finding= word=ok
	if grep -qF "|$1|" "$out/done"; then
		return
	fi
	log=$out/$(tr '/:' '__' <<<"${1#./}").log
	start=$SECONDS
	timeout -k 10 $((seconds + 600)) go test -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" -fuzzminimizetime 10x -parallel 1 "$dir" >"$log" 2>&1
	status=$?
	tries=$(grep -oE 'execs: [0-9]+' "$log" | tail -n 1 | grep -oE '[0-9]+')
	# "new interesting: 12 (total: 345)": kept in this run, and in all.
	kept=$(grep -oE 'new interesting: [0-9]+ \(total: [0-9]+\)' "$log" | tail -n 1 | tr -dc '0-9 ' | awk '{ print $1 " of " $2 }')
	if [ $status -ne 0 ]; then
		finding=$(grep -oE 'testdata/fuzz/[^ ]+' "$log" | sort -u | head -n 1)
		if [ -n "$finding" ]; then
			word=FAIL finding=$dir/$finding
		elif grep -q 'context deadline exceeded' "$log"; then
			# The runner sometimes takes the end of its own time for a failure.
			word=ok
		elif [ $status -ge 129 ] && [ $status -ne 137 ]; then
			return # interrupted: not done
		else
			word=FAIL finding="exit status $status, see $log"
		fi
	fi
	# One write a line, so that two targets do not mix theirs.
	echo "$word|$1|${tries:-0}|${kept:-0 of 0}|$((SECONDS - start))|$finding" | tee -a "$out/done"
}

# faults DIR runs the fault tests of a package.
faults() {
	local dir=$1 log start word=ok finding=
	if grep -qF "|$1:tests|" "$out/done"; then
		return
	fi
	log=$out/$(tr '/:' '__' <<<"${1#./}")_tests.log
	start=$SECONDS
	if ! LOGPARSER_SOAK=$rounds go test -count 1 -timeout 0 "$dir" >"$log" 2>&1; then
		word=FAIL finding="see $log"
	fi
	echo "$word|$1:tests|-|-|$((SECONDS - start))|$finding" | tee -a "$out/done"
}
export -f soak_one faults

# whole NAME COMMAND... runs a test of recorder or reader; 77: it needs what is
# not here.
whole() {
	local name=$1 log=$out/${1/:/_}.log start=$SECONDS word=ok finding
	shift
	if grep -qF "|$name|" "$out/done"; then
		return
	fi
	"$@" >"$log" 2>&1
	case $? in
	0) finding=$(grep -aE '^xvfb: |kills, at most|^large trace: .*(read|each)|^stats, |passed, ' "$log" | tr -d '\r' | sed 's/^ *//' | tail -n 2 | paste -sd ';') ;;
	77) word=skip finding=$(tail -n 1 "$log") ;;
	*) word=FAIL finding="see $log" ;;
	esac
	echo "$word|$name|-|-|$((SECONDS - start))|$finding" | tee -a "$out/done"
}

# monkey clicks and types in the window at random, five minutes in each language.
monkey() {
	local c
	for c in Xvfb xdotool import; do
		command -v $c >/dev/null || { echo "$c is missing" && return 77; }
	done
	make window && ui/xvfb/monkey.sh build/logparser 300
}

targets=$(
	for dir in $dirs; do
		go test -list '^Fuzz' "$dir" | grep '^Fuzz' | sed "s|^|$dir:|"
	done
)
[ -n "$targets" ] || { echo "no fuzz target found" && exit 1; }
trap 'echo "broken off; the next run goes on from here"; exit 130' INT TERM
xargs -n 1 -P 2 bash -c 'soak_one "$0"' <<<"$targets"

tests=
if [ "$rounds" -gt 0 ]; then
	tests=$(grep -rlE --include='*_test.go' 'LOGPARSER_SOAK' $([ $# -gt 0 ] && echo "$@" || echo .) | grep -v '^./build/' | xargs -r -n 1 dirname | sort -u)
	for dir in $tests; do faults "$dir"; done
fi
if [ "$rounds" -gt 0 ] && [ $# -eq 0 ]; then
	tests="$tests recorder:kills recorder:crashes recorder:pointers recorder:kills-wine recorder:large values:generated reader:billion window:monkey"
	whole recorder:kills env LANES=gcc recorder/tests/run_trace.sh $((rounds / 10))
	whole recorder:crashes env LANES=gcc-crashes crash_rounds=$((rounds / 100)) recorder/tests/run_trace.sh 0
	whole recorder:pointers env LANES="gcc-values asan-values tsan-values clang-values cyg-values asan-cyg-values" value_pointers=$((rounds * 1000)) recorder/tests/run_trace.sh 0
	whole recorder:kills-wine recorder/tests/trace_windows.sh "$out/trace-windows" $((rounds / 100))
	whole recorder:large scripts/bench/large-trace.sh 50 2
	whole values:generated env LOGPARSER_GENERATED=$((rounds / 100)) LOGPARSER_SEED=$((RANDOM + 1)) go test -count 1 -v -timeout 12h -run TestGeneratedSoak ./cmd/logparse
	whole reader:billion scripts/bench/memory.sh 1000 command
	whole window:monkey monkey
fi

{
	date -u '+%Y-%m-%d %H:%M UTC'
	echo "$(go env GOVERSION), $(nproc) cores; $seconds s a fuzz target, two at a time; $rounds rounds of the fault tests"
	echo
	sort -t '|' -k 2 "$out/done" | awk -F'|' '
		BEGIN { f = "%-6s %-52s %12s  %-16s %6s  %s\n"; printf f, "", "target", "tries", "new inputs", "s", "finding" }
		{ printf f, $1, $2, $3, $4, $5, $6; n += $3; k += $4; if ($1 == "FAIL") bad++; if ($3 != "-") t++ }
		END { printf "\n%d targets, %.0f tries, %d new inputs, %d findings\n", t, n, k, bad }'
} | tee build/soak.txt

all=$(wc -w <<<"$targets $tests")
ok=$(grep -c '^ok|' "$out/done") skipped=$(grep -c '^skip|' "$out/done")
echo "$ok passed, $((all - ok - skipped)) failed or not run, $skipped skipped"
if [ "$(wc -l <"$out/done")" -ge "$all" ]; then rm -f "$out/settings"; fi
[ $((ok + skipped)) -eq "$all" ]
