#!/bin/bash
# readers.sh measures what reading a large log costs, beside uftrace.
#
#	scripts/bench/readers.sh [MILLIONS] [ROUNDS]
#
# The same program (scripts/bench/programs/calls.c) makes MILLIONS (51) of events and is
# recorded by uftrace and by the trace recorder. Both then answer the same
# questions, in turn, ROUNDS (3) times over, of which the median counts: what
# each function cost, all calls as text, all as a Chrome trace. That both have
# the same calls and print the same lines is checked first. logparse answers
# once as if it had never seen the log ("new") and once with the index that it
# keeps ("kept"). Times are from the start of the process to its end, output
# goes to /dev/null.
#
# Then come saving as csv, opening, and the benchmarks of calls and calls/index on that
# trace and on a classic log of the same shape and size (scripts/genlog, 24-byte
# records). And the index is made of a program of 300 functions that call each other at random
# (scripts/bench/programs/graph.c), with 2 threads, with 16, and with 2 as a classic log; with 2 it is also
# written as text, beside uftrace, and summed up with filters of every kind.
# Lines that begin with "bar" compare with what reading has to keep to.
#
# From the environment: BENCH_DIR, a folder for the logs. Exit status 77: what
# it needs is not here.
set -u
cd "$(dirname "$0")/../.."
millions=${1:-51} rounds=${2:-3} here=$PWD
leave_out() {
	echo "left out: the comparison of readers; $*"
	exit 77
}
[ "$(uname -s)" = Linux ] || leave_out "it is for Linux"
for p in gcc uftrace; do command -v $p >/dev/null || leave_out "it needs $p"; done
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
# 16 twice, 24 and those of workloads.sh bytes an event of the logs, and csv twice.
need=$((millions * 456 / 1000 + 1)) free=$(df --output=avail -k "$work" | tail -n 1)
[ $((free / 1000000)) -ge $need ] || leave_out "it needs $need GB in $work"
export LC_ALL=C CGO_ENABLED=0 XDG_CACHE_HOME=$work/cache
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LD_PRELOAD; do unset $v; done
logparse=$work/logparse
GOCACHE=$(go env GOCACHE) && export GOCACHE
go build -trimpath -ldflags "-s -w" -o "$logparse" ./cmd/logparse && go build -o "$work/genlog" ./scripts/genlog || exit 1
cd "$work" || exit 1

"$here/scripts/bench/workloads.sh" "$work" "$millions" || exit
gcc -g -O2 -finstrument-functions "$here/scripts/bench/programs/calls.c" -o plain || exit 1
uftrace record --no-libcall --no-event -b 64m -d ud ./plain "$millions" >/dev/null || exit 1
./genlog -records $((millions * 1000000)) -size 24 -tiny tiny >/dev/null || exit 1
classic=$work/tiny/LogDetails.dat
cat w5.lptrace ud/*.dat "$classic" >/dev/null

median() { sort -n "$1" | awk '{ v[NR] = $0 } END { print v[int((NR + 1) / 2)] }'; }
failed=0
TIMEFORMAT='%R %U %S'
# timed FILE COMMAND... appends the seconds of wall clock and processor to FILE,
# and the system's part of them.
timed() {
	local file=$1
	shift
	{ time "$@" >/dev/null 2>err.txt; } 2>time.txt || { cat err.txt && exit 1; }
	awk '{ print $1, $2 + $3, $3 }' time.txt >>"$file"
}
# bar WHAT IS LIMIT: IS has to be LIMIT at least; with "most" at most.
bar() {
	awk -v w="$1" -v is="$2" -v limit="$3" -v most="${4:-}" 'BEGIN {
		ok = most ? is <= limit : is >= limit
		printf "bar %-52s %9.3f of %7.3f %s\n", w, is, limit, ok ? "met" : "MISSED" }'
}

# same WHAT THEIRS OURS
same() {
	[ "$2" = "$3" ] && return
	echo "FAIL: $1: uftrace has $2, logparse $3"
	failed=1
}
events=$("$logparse" info w5.lptrace --json | grep -oE '"records": ?[0-9]+' | head -n 1 | tr -dc 0-9)
same "events" $(($(cat ud/*.dat | wc -c) / 16)) "$events"
uftrace report -d ud | awk '$NF ~ /^[a-z]+$/ && $(NF - 1) ~ /^[0-9]+$/ { print $NF, $(NF - 1) }' | sort >theirs.txt
"$logparse" stats w5.lptrace --format csv | awk -F, 'NR > 1 { print $1, $6 }' | sort >ours.txt
[ -s theirs.txt ] || same "functions" "no list" "$(wc -l <ours.txt)"
same "calls of each function" "$(cat theirs.txt)" "$(cat ours.txt)"
same "lines of calls" $(($(uftrace replay --no-merge -d ud | wc -l) - 1)) $(($("$logparse" show w5.lptrace | wc -l) - $("$logparse" show -n 0 w5.lptrace | wc -l)))
begins() { grep -c '"ph":"[BE]"'; }
same "events of the Chrome trace" "$(uftrace dump --chrome -d ud | begins)" "$("$logparse" save w5.lptrace --format chrome -o - | begins)"
[ $failed = 0 ] || exit 1

echo "reading: $events events in $(wc -l <ours.txt) functions, the same calls in both; $rounds rounds, $(nproc) cores, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
echo "uftrace $(cat ud/*.dat | wc -c) bytes, trace $(stat -c %s w5.lptrace), classic log $(stat -c %s "$classic")"
table=(
	"report|uftrace report -d ud|stats w5.lptrace|10|6"
	"replay|uftrace replay -d ud|show w5.lptrace|4"
	"replay --no-merge|uftrace replay --no-merge -d ud|show w5.lptrace|"
	"dump --chrome|uftrace dump --chrome -d ud|save w5.lptrace --format chrome -o -|4"
)
for ((r = 0; r < rounds; r++)); do
	for i in "${!table[@]}"; do
		IFS='|' read -r name theirs ours limit cpu <<<"${table[$i]}"
		timed "theirs.$i" $theirs
		rm -rf cache
		timed "new.$i" "$logparse" $ours
		timed "kept.$i" "$logparse" $ours
	done
done
printf '%-20s %16s %16s %16s %18s %18s\n' "wall and CPU, s" uftrace new kept "times, new" "times, kept"
for i in "${!table[@]}"; do
	IFS='|' read -r name theirs ours limit cpu <<<"${table[$i]}"
	echo "$name $(for k in theirs new kept; do median "$k.$i" | cut -d ' ' -f 1,2; done | paste -sd ' ')" | awk '{
		n = NF - 5; name = $1; for (i = 2; i < n; i++) name = name " " $i
		printf "%-20s %8.2f %7.2f %8.2f %7.2f %8.2f %7.2f %10.1f %7.1f %10.1f %7.1f\n", name,
			$n, $(n + 1), $(n + 2), $(n + 3), $(n + 4), $(n + 5), $n / $(n + 2), $(n + 1) / $(n + 3), $n / $(n + 4), $(n + 1) / $(n + 5) }'
done
ratio() { awk -v a="$(median "$1")" -v b="$(median "$2")" -v c="$3" 'BEGIN { split(a, x, " "); split(b, y, " "); print x[c] / y[c] }'; }
for i in "${!table[@]}"; do
	IFS='|' read -r name theirs ours limit cpu <<<"${table[$i]}"
	[ -n "$limit" ] || continue
	for state in new kept; do
		bar "uftrace $name, times by the clock, $state" "$(ratio "theirs.$i" $state.$i 1)" "$limit"
		bar "uftrace $name, times by CPU, $state" "$(ratio "theirs.$i" $state.$i 2)" "${cpu:-$limit}"
	done
done

# of_each NAME COMMAND...: one line for the trace and one for the classic log,
# medians left in NAME.trace and NAME.classic.
of_each() {
	local name=$1 kind r
	shift
	for ((r = 0; r < rounds; r++)); do
		# Only a file that is new need not wait for the disk.
		rm -f all.csv
		timed "$name.trace" "$logparse" "${@//LOG/w5.lptrace}"
		rm -f all.csv
		timed "$name.classic" "$logparse" "${@//LOG/$classic}"
	done
	for kind in trace classic; do
		median "$name.$kind" | awk -v n="$name, $kind" -v e="$events" '{ printf "%-40s %8.3f s, CPU %.2f s (system %.2f), %.1f million rows/s\n", n, $1, $2, $3, e / $1 / 1e6 }'
	done
}
million_rows() { median "$1" | awk -v e="$events" '{ print e / $1 / 1e6 }'; }
of_each "statistics, new" stats LOG --no-index-cache
bar "uftrace report, a classic log of that shape, new" "$(ratio theirs.0 "statistics, new.classic" 1)" 8
"$logparse" stats "$classic" >/dev/null 2>&1
of_each "opened again, statistics" stats LOG
for kind in trace classic; do bar "opening again, s, $kind" "$(median "opened again, statistics.$kind" | cut -d ' ' -f 1)" 0.5 most; done
of_each "csv to the null device" save LOG --format csv -o -
for kind in trace classic; do bar "csv of all rows, million/s, $kind" "$(million_rows "csv to the null device.$kind")" 20; done
of_each "csv to a file" save LOG -o all.csv
size=$(stat -c %s all.csv)
rm -f all.csv
{ time head -c "$size" /dev/zero >zeros; } 2>time.txt
{ time sync zeros; } 2>sync.txt
rm -f zeros
awk -v s="$size" '{ t[NR] = $1 } END { printf "the disk beside it: %.1f GB of zeros into the file cache at %.2f GB/s, %.2f GB/s to the disk\n", s / 1e9, s / t[1] / 1e9, s / (t[1] + t[2]) / 1e9 }' time.txt sync.txt

for log in "$work/w5.lptrace" "$classic"; do
	kind=classic
	[ "${log##*.}" = lptrace ] && kind=trace
	(cd "$here" && LOGPARSER_BENCH_LOG=$log go test -run '^$' -bench '^Benchmark(Build|Filter|Analysis|Timeline)$' -benchtime 5x -timeout 60m ./calls/index ./calls) >go.txt || { cat go.txt && exit 1; }
	sed -n 's/^Benchmark//p' go.txt | sed "s/^/$kind: /"
	while read -r name _ ns _ rest; do
		name=${name#Benchmark} name=${name%-[0-9]*}
		case $name in
		Build/*) bar "index, million events/s, $kind" "$(grep -oE '[0-9.]+.Mevents' <<<"$rest" | grep -oE '^[0-9.]+')" 150 ;;
		Filter/*) bar "filter, s, $kind: ${name#*/}" "$(awk -v n="$ns" 'BEGIN { print n / 1e9 }')" 0.3 most ;;
		Analysis/statistics-totals) bar "statistics, s, $kind" "$(awk -v n="$ns" 'BEGIN { print n / 1e9 }')" 0.1 most ;;
		Timeline/*) bar "a frame of the timeline, ms, $kind, zoom ${name#*/}" "$(awk -v n="$ns" 'BEGIN { print n / 1e6 }')" 8 most ;;
		esac
	done < <(grep '^Benchmark' go.txt)
done

# A program whose calls cannot be predicted: two threads, sixteen, and two as a classic log.
for log in w1.lptrace w2.lptrace w4/LogDetails.dat; do
	kind=${log%%[./]*}
	(cd "$here" && LOGPARSER_BENCH_LOG=$work/$log go test -run '^$' -bench '^BenchmarkBuild$' -benchtime 5x -timeout 60m ./calls/index) >go.txt || { cat go.txt && exit 1; }
	sed -n 's/^Benchmark//p' go.txt | sed "s/^/$kind: /"
	bar "index, million events/s, $kind" "$(grep '^Benchmark' go.txt | grep -oE '[0-9.]+.Mevents' | grep -oE '^[0-9.]+')" 100
done

# The same program beside uftrace: texts of all its calls, and sums with filters.
gcc -g -O2 -finstrument-functions "$here/scripts/bench/programs/graph.c" -o random -pthread || exit 1
uftrace record --no-libcall --no-event -b 64m -d ud.random ./random "$millions" 2 >/dev/null || exit 1
cat ud.random/*.dat w1.lptrace >/dev/null
"$logparse" stats w1.lptrace >/dev/null 2>&1
events=$("$logparse" info w1.lptrace --json | grep -oE '"records": ?[0-9]+' | head -n 1 | tr -dc 0-9)
size=$("$logparse" save w1.lptrace --format csv -o - 2>/dev/null | wc -c)
five='func:f1 depth:<9 dur:>300ns -thread:1 time:0..1000s'
for ((r = 0; r < rounds; r++)); do
	timed w1.report uftrace report -d ud.random
	timed w1.new "$logparse" stats w1.lptrace --no-index-cache
	timed w1.replay uftrace replay -d ud.random
	timed w1.show "$logparse" show w1.lptrace
	timed w1.dump uftrace dump --chrome -d ud.random
	timed w1.chrome "$logparse" save w1.lptrace --format chrome -o -
	timed w1.csv "$logparse" save w1.lptrace --format csv -o -
	for verb in stats tree; do
		for where in func:f1 module:graph symbols:embedded 'depth:<=4' 'depth:>5' 'dur:>5us' 'dur:>1us' 'dur:<1us' 'self:>500ns' 'self:<50ns' in:f123 in:f1 'time:0.1s..0.5s' 'row:>1000000' call:1234567 -thread:1 event:enter 'mark:""' "$five"; do
			timed "w1.$verb $where" "$logparse" $verb w1.lptrace --where "$where"
		done
	done
	timed w1.tree "$logparse" tree w1.lptrace
done
bar "w1: uftrace report, times by the clock, new" "$(ratio w1.report w1.new 1)" 10
bar "w1: uftrace report, times by CPU, new" "$(ratio w1.report w1.new 2)" 6
bar "w1: uftrace replay, times by the clock, kept" "$(ratio w1.replay w1.show 1)" 8
bar "w1: uftrace dump --chrome, times by the clock, kept" "$(ratio w1.dump w1.chrome 1)" 6
# Whichever is reached first.
bar "w1: csv, parts of 2.5 GB/s or 20 million rows/s" "$(median w1.csv | awk -v e="$events" -v s="$size" '{ a = s / $1 / 2.5e9; b = e / $1 / 20e6; print (a > b ? a : b) }')" 1
for file in w1.stats* w1.tree*; do
	limit=0.3
	[ "${file#* }" != "$five" ] || limit=0.4
	median "$file" | awk -v n="${file#w1.}" '{ printf "w1: %-60s %8.3f s, CPU %.2f s\n", n, $1, $2 }'
	bar "w1: ${file#w1.}, s" "$(median "$file" | cut -d ' ' -f 1)" $limit most
done
exit 0
