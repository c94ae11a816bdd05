#!/bin/bash
# compare-recorder.sh holds the recorders of two commits against each other: what programs take that are recorded.
#
#	scripts/bench/compare-recorder.sh OLD [NEW]
#
# OLD and NEW are commits; NEW is the working tree if it is missing or "-". The same programs are linked with both
# recorders, and run in turns; scripts/compare says of each how much slower or faster the new one is, and is
# believed only where the scatter of the runs allows it.
#
# From the environment: BENCH_DIR, a folder to work in, on the disk to measure; BENCH_PAIRS, how many pairs of runs (15);
# BENCH_TOLERANCE, how many percent are not worth a word (3). Exit status 1: something is slower; 77: what it needs is not here.
set -u -o pipefail
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { echo "usage: compare-recorder.sh OLD [NEW]" >&2 && exit 2; }
[ "$(uname -s)" = Linux ] && command -v gcc >/dev/null || { echo "it is for Linux, with gcc" && exit 77; }
old=$1 new=${2:--}
work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}")
trap 'rm -rf "$work"' EXIT
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGREC_VALUES LD_PRELOAD; do unset $v; done
export LC_ALL=C
bench=$PWD/recorder/bench graph=$PWD/scripts/bench/programs/graph.c plan=$PWD/recorder/tests/values_plan.sh

# build NAME COMMIT: the recorder and the programs, in the folder NAME, and the program NAME.run, which runs one of them by name.
build() {
	local tree=$PWD d=$work/$1
	mkdir "$d"
	if [ "$2" != - ]; then
		tree=$d/tree
		mkdir "$tree" && git archive "$2" recorder | tar -x -C "$tree" || return 1
	fi
	(
		cd "$d" && gcc -std=c99 -O2 -fPIC -fvisibility=hidden -pthread -I"$tree/recorder/include" -c "$tree"/recorder/src/*.c "$tree"/recorder/src/*.S &&
			ar rcs liblogrec.a ./*.o && rm ./*.o && gcc -O2 -c "$bench/bench.c" || exit
		program() { gcc -O2 $2 -I"$tree/recorder/include" -c "$3" -o "$1.o" && gcc bench.o "$1.o" liblogrec.a -Wl,--build-id -pthread -ldl -o "$1"; } # NAME FLAGS SOURCE
		program hooks -finstrument-functions "$bench/tiny.c" && program graph "-DBENCH -finstrument-functions" "$graph" && program api "" "$bench/tiny_api.c" || exit
		if [ "$(uname -m)" = x86_64 ]; then
			returns="-pg -mfentry -minstrument-return=call"
			program fentry "$returns" "$bench/tiny.c" && program graph-fentry "-DBENCH $returns" "$graph" && program late "-pg -mfentry" "$bench/tiny.c" &&
				program values "$returns" "$bench/tiny_values.c" && "$plan" "$bench/tiny_values.plan" values >values.lpvalues
		fi
	) || return 1
	# A run leaves its log to the next one, which removes it: that is not measured.
	cat >"$work/$1.run" <<-END
		#!/bin/bash
		rm -f "$d"/*.lptrace
		cd "$d" && [ "\$1" != values ] || export LOGREC_VALUES=values.lpvalues
		exec "./\$1" "\$2" "\$3" >/dev/null
	END
	chmod +x "$work/$1.run"
}
build old "$old" && build new "$new" && CGO_ENABLED=0 go build -o "$work/compare" ./scripts/compare || exit 1
echo "recorders of $(git rev-parse --short "$old") and $([ "$new" = - ] && echo "the working tree" || git rev-parse --short "$new"), load $(cut -d ' ' -f 1-3 /proc/loadavg)"
while read -r program calls threads; do
	[ ! -x "$work/new/$program" ] || printf '%s, %d threads\t%s %d %d\n' "$program" "$threads" "$program" "$calls" "$threads"
done <<-RUNS | "$work/compare" -old "$work/old.run" -new "$work/new.run" -pairs "${BENCH_PAIRS:-15}" -tolerance "${BENCH_TOLERANCE:-3}"
	hooks 20000000 1
	hooks 10000000 2
	graph 2000000 1
	fentry 20000000 1
	graph-fentry 2000000 1
	late 20000000 1
	api 20000000 1
	values 10000000 1
RUNS
