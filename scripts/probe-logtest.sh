#!/bin/bash
# probe-logtest.sh LOGPARSE OUT [LANE...]: builds LogTest without hooks, at -O0 and at -O2, has it recorded by
# probes of the kernel, and leaves the logs and truths in OUT, a folder a lane, for TestTraceLogTest of cmd/logparse:
#
#	linux-COMPILER-probe-LEVEL      by logparse record --probe
#	linux-COMPILER-perf-LEVEL       by perf, with the script of logparse probes
#	linux-COMPILER-bpftrace-LEVEL   by bpftrace, with the script of logparse probes
#
# As root, on a kernel with uprobes. What is not here is left out, and said; where that is all of it the exit status is 77. What an
# earlier run left in OUT is removed first.
set -u
logparse=$(readlink -f "$1")
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 2
shift 2
lanes=$*
here=$(cd "$(dirname "$0")/.." && pwd)
samples=$here/recorder/samples/logtest
rm -rf "${out:?}"/linux-*-{probe,perf,bpftrace}-O[02]{,.log}
[ -w /sys/kernel/tracing/uprobe_events ] || { echo "no root, no tracefs, or a kernel without uprobes"; exit 77; }
chosen="main globalHelper app::* shapes::* logtest_sum"
passed=0 failed=0 skipped=0

# record WAY COMPILER FLAGS: builds and records LogTest in the current folder.
record() {
	# The program and the library, which are one here, both have the recorder, of which nothing is called.
	"$2" -std=c++11 -g "$3" -pthread -DLOGTEST_HOOKS -DLOGPARSER_TRACE -ffunction-sections -Wl,--gc-sections -Wl,-z,muldefs -I"$here/recorder/include" "$samples"/{main,work,threads,shapes,truth}.cpp -Wl,--build-id -o logtest || return 1
	# shellcheck disable=SC2086 # the patterns are words
	case $1 in
	probe)
		set -f
		"$logparse" record -q $(printf ' --probe %s' $chosen) -o rec ./logtest && set +f && mv rec/*.lptrace LogDetails.lptrace
		;;
	perf)
		set -f
		"$logparse" probes ./logtest $chosen --at-returns --args none -o logtest.sh && LP_OUT=LogDetails sh logtest.sh ./logtest
		;;
	bpftrace)
		set -f
		# Its probes at addresses need a bpftrace built for that, and exceptions must not pass return probes.
		"$logparse" probes ./logtest $chosen '!app::thrower' '!app::passesOn' '!app::throwsAgain' --return --args none --for bpftrace -o logtest.bt && bpftrace logtest.bt -c ./logtest >LogDetails.txt
		;;
	esac && [ -s LogDetails.truth ]
}

for compiler in g++ clang++; do
	for way in probe perf bpftrace; do
		tool=$way
		[ $way = probe ] && tool=sh
		for level in O0 O2; do
			lane=linux-$(sed 's/+*$//; s/^g$/gcc/' <<<$compiler)-$way-$level
			case " ${lanes:-$lane} " in *" $lane "*) ;; *) continue ;; esac
			command -v $compiler >/dev/null && command -v $tool >/dev/null || { echo "$lane: skipped: $compiler or $tool is not here"; skipped=$((skipped + 1)); continue; }
			mkdir -p "$out/$lane" || exit 2
			if (cd "$out/$lane" && record $way $compiler -$level) >"$out/$lane.log" 2>&1; then
				echo "$lane: recorded"
				passed=$((passed + 1))
				rm -f "$out/$lane.log"
			else
				rm -f "$out/$lane"/LogDetails.{lptrace,txt}
				echo "$lane: failed"
				cat "$out/$lane.log"
				failed=$((failed + 1))
			fi
		done
	done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || { echo "nothing of it can be recorded here"; exit 77; }
