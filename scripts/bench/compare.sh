#!/bin/bash
# compare.sh holds two commits against each other on the same logs.
#
#	scripts/bench/compare.sh OLD [NEW] [MILLIONS]
#
# OLD and NEW are commits; NEW is the working tree if it is missing or "-". Both
# read the logs of workloads.sh, of MILLIONS (46) of events, in turns;
# scripts/compare says of each command how much slower or faster the new one is,
# and is believed only where the scatter of the runs allows it.
#
# From the environment: BENCH_DIR, a folder for the logs; BENCH_PAIRS, how many
# pairs of runs (7); BENCH_TOLERANCE, how many percent are not worth a word (0).
# Exit status 1: something is slower; 77: what it needs is not here.
set -u -o pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: compare.sh OLD [NEW] [MILLIONS]" >&2 && exit 2; }
old=$1 new=${2:--} millions=${3:-46}
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
export CGO_ENABLED=0 LC_ALL=C XDG_CACHE_HOME=$work/cache
GOCACHE=$(go env GOCACHE) && export GOCACHE
# build NAME COMMIT
build() {
	local tree=$PWD
	if [ "$2" != - ]; then
		tree=$work/$1.tree
		mkdir "$tree" && git archive "$2" | tar -x -C "$tree" || return 1
	fi
	(cd "$tree" && go build -trimpath -ldflags "-s -w" -o "$work/$1" ./cmd/logparse)
}
build old "$old" && build new "$new" && go build -o "$work/compare" ./scripts/compare || exit 1
scripts/bench/workloads.sh "$work/logs" "$millions" || exit
logs=$work/logs
cat "$logs"/*.lptrace "$logs/w4/LogDetails.dat" >/dev/null
echo "$(git rev-parse --short "$old") and $([ "$new" = - ] && echo "the working tree" || git rev-parse --short "$new"), $millions million events, load $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null)"
commands() {
	local name log
	while read -r name log; do
		printf '%s\t%s\n' \
			"$name stats, new" "stats $log" "$name stats, kept" "stats $log" \
			"$name show, kept" "show $log" "$name csv, kept" "save $log --format csv -o -" "$name Chrome, kept" "save $log --format chrome -o -" \
			"$name stats of few, kept" "stats $log --where depth:<=4" \
			"$name stats by duration, kept" "stats $log --where dur:>5us" "$name stats inside, kept" "stats $log --where in:f123" \
			"$name stats of a function, kept" "stats $log --where func:f1" \
			"$name tree, kept" "tree $log" "$name tree inside, kept" "tree $log --where in:f123"
	done <<-LOGS
		w1 $logs/w1.lptrace
		w2 $logs/w2.lptrace
		w4 $logs/w4/LogDetails.dat
		w5 $logs/w5.lptrace
	LOGS
}
commands | "$work/compare" -old "$work/old" -new "$work/new" -cache "$work/cache/logparser" -pairs "${BENCH_PAIRS:-7}" -tolerance "${BENCH_TOLERANCE:-0}"
