#!/bin/bash
# bench.sh measures speed and memory, and keeps the figures in build/bench.txt.
#
#	scripts/bench.sh [REGEXP|recorder|readers|symbolizers|window]
#	scripts/bench.sh compare OLD [NEW]
#
# First the recorder is compared with others (scripts/bench-recorder.sh), takes values (scripts/bench/value-cost.sh), crashes
# (scripts/bench-crash.sh) and records a real program (scripts/bench/real-program.sh), then logparse is
# compared with uftrace in reading what was recorded (scripts/bench/readers.sh),
# opens large logs (scripts/bench/opening.sh, scripts/bench/memory.sh), filters by values of calls
# (scripts/bench/values.sh) and is compared with
# llvm-symbolizer and addr2line in one run (scripts/bench/symbolizers.sh), then the window, if it was
# built, is asked for 20 million rows by keys (ui/xvfb/keys.sh), then
# the benchmarks of every package run, one package after another so that they do
# not slow each other down. With a regular expression only the benchmarks that
# it matches run, with the word recorder, readers, symbolizers or window only that
# comparison. With the word compare two commits are held against each other
# (scripts/bench/compare.sh), and before that their recorders (scripts/bench/compare-recorder.sh).
set -u -o pipefail
cd "$(dirname "$0")/.."

which=${1:-}
if [ "$which" = compare ]; then
	scripts/bench/compare-recorder.sh "${@:2:2}"
	recorders=$?
	scripts/bench/compare.sh "${@:2}" || exit
	# 77: what it needs is not here, and it said so.
	[ $recorders -eq 0 ] || [ $recorders -eq 77 ]
	exit
fi
mkdir -p build
export CGO_ENABLED=0
{
	echo "$(go env GOVERSION), $(nproc) cores, $(uname -sr), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1), load $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null)"
	status=0
	scripts=()
	case $which in "" | recorder) scripts+=(bench-recorder.sh bench/value-cost.sh bench-crash.sh bench/real-program.sh) ;; esac
	case $which in "" | readers) scripts+=(bench/readers.sh bench/opening.sh bench/memory.sh bench/values.sh) ;; esac
	case $which in "" | symbolizers) scripts+=(bench/symbolizers.sh) ;; esac
	for script in "${scripts[@]}"; do
		scripts/$script
		# 77: what it needs is not here, and it said so.
		case $? in 0 | 77) ;; *) status=1 ;; esac
	done
	if [ -z "$which" ] || [ "$which" = window ]; then
		if [ -x build/logparser ]; then
			ui/xvfb/keys.sh build/logparser
			case $? in 0 | 2) ;; *) status=1 ;; esac
		else
			echo "build/logparser is not there: make window builds it"
		fi
	fi
	if [ -z "$which" ] || [ ${#scripts[@]} = 0 ] && [ "$which" != window ]; then
		for dir in $(grep -rlE --include='*_test.go' '^func Benchmark[A-Z0-9_]' . | grep -v '^./build/' | xargs -r -n 1 dirname | sort -u); do
			go test -tags ci,migrated_fynedo -run '^$' -bench "${which:-.}" -benchmem -timeout 60m "$dir" || status=1
		done
	fi
	exit $status
} 2>&1 | tee build/bench.txt
