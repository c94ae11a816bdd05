#!/bin/bash
# test.sh runs all the tests, stage by stage, and counts them.
#
#	scripts/test.sh [STAGE...]
#
# Without arguments all stages run, in the order of the list below. A stage is
# made of Go tests and of lanes: commands that pass, fail, or are skipped
# where something they need cannot be had (exit status 77).
#
# The output of everything is kept in build/test. At the end come the minutes
# of each stage, by the clock and of processors, and, alone on the last line,
# the sum:
#
#	N passed, N failed, N skipped
#
# The exit status is 1 if anything failed. A stage that fails does not keep
# the next ones from running.
set -u
cd "$(dirname "$0")/.."
. scripts/toolchains.sh

all_stages="setup lint unit ui race cross recorder logtest fuzz window"
stages=${*:-$all_stages}
for stage in $stages; do
	case " $all_stages " in
	*" $stage "*) ;;
	*)
		echo "test.sh: no stage $stage; there are: $all_stages" >&2
		exit 2
		;;
	esac
done

out=$PWD/build/test
rm -rf "$out"
mkdir -p "$out"
export LC_ALL=C.UTF-8
# The lanes of the recorder share what they build of it.
export RECORDER_LIBRARIES=$out/recorder

passed=0 failed=0 skipped=0
report=() # a line a stage for the end
failures=()
skips=()

now() { date +%s.%N; }
# spent sets cpu to the processor time of all commands so far, in seconds. It
# is no subshell, which would tell of its own: the second line of times is
# "1m2.345s 0m6.789s".
spent() {
	times >"$out/times"
	cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, a, /[ms]/); t += a[1] * 60 + a[2] } printf "%.1f", t }' "$out/times")
}
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }
want() { case " $stages " in *" $1 "*) ;; *) return 1 ;; esac }

# add PASSED FAILED SKIPPED NAME
add() {
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
	[ "$2" -eq 0 ] || failures+=("$4")
}

skip() { # NAME REASON
	echo "skip    $1: $2"
	skips+=("$1: $2")
	add 0 0 1 "$1"
}

# number WORD LINE: the number before the first of the words, or 0.
number() {
	local n
	n=$(grep -oE "[0-9]+ ($1)" <<<"$2" | head -n 1)
	echo "${n%% *}" | grep . || echo 0
}

# lane NAME MINUTES COMMAND... runs a command. It counts as one test unless its
# last line of that form says "N passed, N failed" (or built, or run).
lane() {
	run_lane "$@"
	tell_lane "$1" "$2"
}

# beside NAME MINUTES COMMAND... starts a lane that goes on beside the next ones, for commands that
# wait more than they work. end_beside waits for all of them and tells how they ended.
besides=()
beside() {
	run_lane "$@" &
	besides+=("$! $1 $2")
}
end_beside() {
	local one
	for one in ${besides[@]+"${besides[@]}"}; do
		set -- $one
		wait "$1"
		tell_lane "$2" "$3"
	done
	besides=()
}

log_of() { echo "$out/${1//[^A-Za-z0-9._-]/_}.log"; }

# run_lane NAME MINUTES COMMAND... leaves the command's output in the lane's log, and beside that how it ended.
run_lane() {
	local minutes=$2 log start
	log=$(log_of "$1")
	shift 2
	start=$(now)
	timeout -k 10 "${minutes}m" "$@" >"$log" 2>&1 </dev/null
	echo "$? $(since "$start")" >"$log.end"
}

# tell_lane NAME MINUTES
tell_lane() {
	local name=$1 minutes=$2 log status seconds line p f s
	log=$(log_of "$name")
	read -r status seconds <"$log.end" || status=2 seconds=0
	line=$(grep -aE '^([A-Za-z]+: )?[0-9]+ (passed|built|run), .*[0-9]+ failed' "$log" | tail -n 1)
	p=$(number 'passed|built|run' "$line") f=$(number failed "$line") s=$(number skipped "$line")
	case $status in
	77)
		skip "$name" "$(tail -n 1 "$log")"
		return
		;;
	124 | 137) echo "stopped after $minutes minutes" >>"$log" ;;
	esac
	if [ "$status" -ne 0 ] || [ "$f" -gt 0 ]; then
		[ "$f" -gt 0 ] || f=1
		echo "FAIL    $name (exit status $status, $seconds s)"
		tail -n 60 "$log" | sed 's/^/        /'
	elif [ -n "$line" ]; then
		echo "ok      $name: $p passed, $s skipped ($seconds s)"
		[ "$s" -eq 0 ] || grep -aiE '(^|[[:space:]])skip(ped)?([[:space:]:]|$)' "$log" | grep -avF "$line" | sed 's/^/        /'
	else
		p=1
		echo "ok      $name ($seconds s)"
	fi
	[ "$s" -eq 0 ] || skips+=("$name: $s")
	add "$p" "$f" "$s" "$name"
}

# failed_lines NAME MOST: the lines of a lane's log that name what failed, and why.
failed_lines() {
	grep -avE '^ok |(^|[^0-9])0 failed' "$(log_of "$1")" 2>/dev/null |
		grep -aE 'FAIL|^failed |[0-9]+ failed|^ +line [0-9]+:|error: |panic:|^stopped after|[Tt]imed? ?out' |
		cut -c 1-200 | awk -v most="$2" '!seen[$0]++ && n++ < most { print "        " $0 }'
}

# gotest NAME ARGUMENT... runs "go test" and adds its counts. The vet that it would run
# itself, for each kind of build anew, is part of the one of stage lint.
gotest() {
	local name=$1
	shift
	go test -vet=off -p 2 -timeout 30m -json "$@" 2>&1 </dev/null | tee "$out/$name.json" | build/tools/testcount -o "$out/$name.count" | tee "$out/$name.log"
	if [ -s "$out/$name.count" ]; then
		add $(cat "$out/$name.count") "$name"
	else
		add 0 1 0 "$name"
	fi
}

# The engine and the command: everything that builds without a C compiler
# and without tags.
engine() { CGO_ENABLED=0 go list -e ./... | grep -v -E '^logparser(/ui(/.*)?)?$'; }

stage_setup() {
	# Without certificates no module can be fetched.
	scripts/setup.sh command
	# sudo may have to ask for a password, and a background command would have
	# no standard input.
	exec 3<&0
	(set -o pipefail && scripts/setup.sh test 2>&1 <&3 | tee "$out/setup.log") &
	local apt=$!
	# What needs no package is compiled while packages come in.
	CGO_ENABLED=0 go vet -p 2 -tags ci,migrated_fynedo ./... >"$out/vet.log" 2>&1 </dev/null
	wait $apt
	local status=$?
	exec 3<&-
	if [ $status -ne 0 ]; then
		echo "FAIL    setup: see above for what to install"
		add 0 1 0 setup
	fi
	if want window && pkg-config --exists x11 gl 2>/dev/null; then
		# The longest compilation of all goes on during the next stages.
		start_window_build
	fi
}

start_window_build() {
	[ -n "$window_build" ] || {
		nice -n 5 bash -c '. scripts/toolchains.sh
			make window >"$0/build-window.log" 2>&1 || exit
			# Built without migrated_fynedo, Fyne itself complains where it is called
			# from the wrong goroutine, and the script looks for that. With the same flags as the
			# window most packages need not be compiled again.
			CC=$(cgo_compiler) CGO_ENABLED=1 go build -p 2 -trimpath -o "$0/logparser-checked" . >"$0/build-window-threads.log" 2>&1
			exit 0' "$out" </dev/null &
		window_build=$!
	}
}

stage_lint() {
	lane gofmt 2 scripts/lint.sh gofmt
	lane vet 10 scripts/lint.sh vet
	lane shell 1 scripts/lint.sh shell
	lane neutral 1 scripts/check-neutral.sh
	lane staticcheck 15 scripts/staticcheck.sh
}

stage_unit() { CGO_ENABLED=0 gotest unit $(engine); }

stage_ui() { CGO_ENABLED=0 gotest ui -tags ci,migrated_fynedo . ./ui/...; }

stage_race() {
	if ! command -v gcc >/dev/null; then
		skip race "no C compiler"
		return
	fi
	# The packages that start goroutines, or are tested with several, and what they import.
	# Under the detector everything is ten times slower and larger: long random
	# tests, those of damage, of bounds on time and memory, and those that compile programs to
	# read them say nothing here.
	CGO_ENABLED=1 gotest race -race -short -skip '^Test(Hostile|ManyRecords|DeepMisses|XZ|Large|Cut|RandomBytes|OutOfStep|GarbageStretch|AppendedAfterTornRecord|Width|LevelOfManyThreads|ManyLoads|ValuesFar|CallSitesFar|DamagedInputs|NotGrown|Ending|ForgedFiles|RefusedFiles|Exclude(System)?Compiles)$' \
		./parser/classic ./parser/trace ./calls ./calls/{compare,index,indexcache,profile,query,timeline} \
		./symbols ./symbols/image ./filemap ./app ./export ./ui/control
	CGO_ENABLED=1 gotest race-symbols -race -run 'Concurrent|^TestFiles$' ./symbols/{attached,dwarf,pdb,store}
}

stage_cross() {
	local target
	# same-bytes-under-wine needs the code for Windows, too. For the others nothing is compiled.
	lane vet-windows-amd64 10 env CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go vet -p 2 $(engine)
	CGO_ENABLED=0 go build -o build/tools/typecheck ./scripts/typecheck
	for target in windows/amd64 darwin/arm64 linux/386; do
		lane "types-${target/\//-}" 5 env GOFLAGS=-tags=ci,migrated_fynedo GOOS="${target%/*}" GOARCH="${target#*/}" build/tools/typecheck ./...
	done
}

stage_recorder() {
	lane recorder 15 recorder/tests/run.sh
	# Each does one thing after the other and waits in between: for wine, or after each program for children that
	# outlive it. recorder-trace waits, too, for programs that it kills after a while and threads that take turns.
	beside recorder-trace-windows 25 recorder/tests/trace_windows.sh build/trace-windows
	beside recorder-programs 25 recorder/tests/programs.sh
	beside recorder-surroundings 10 recorder/tests/surroundings.sh
	WITHOUT="malloc and free,a function that the loader chooses" beside recorder-random 10 recorder/tests/random.sh 24 2
	beside recorder-untouched 15 recorder/tests/untouched.sh
	lane recorder-trace 35 recorder/tests/run_trace.sh 100
	lane recorder-trace-linux 10 recorder/tests/trace_linux.sh build/trace-linux
	lane build-logparse-probes 10 env CGO_ENABLED=0 go build -tags ci,migrated_fynedo -o build/test/logparse-probes ./cmd/logparse
	lane probe-logtest 10 scripts/probe-logtest.sh build/test/logparse-probes build/trace-probes
	end_beside
	local system
	for system in linux windows probes; do
		if compgen -G "build/trace-$system/*/LogDetails.lptrace" >/dev/null || compgen -G "build/trace-$system/*/LogDetails.txt" >/dev/null; then
			LOGPARSER_TRACETEST_DIR=$PWD/build/trace-$system CGO_ENABLED=0 gotest trace-logtest-$system -run TestTraceLogTest ./cmd/logparse
		else
			skip trace-logtest-$system "there are no traces of LogTest"
		fi
	done
}

stage_logtest() {
	lane logtest-build 15 recorder/samples/logtest/build.sh build/logtest
	# The check- lanes are compiled only; what was not built cannot run.
	lane logtest-run 10 recorder/samples/logtest/run.sh build/logtest \
		$(awk -F'\t' '$2 == "built" && $1 !~ /^check-/ { print $1 }' build/logtest/summary.txt)
	LOGPARSER_LOGTEST_DIR=$PWD/build/logtest CGO_ENABLED=0 gotest logtest -run LogTest ./cmd/logparse
	lane same-bytes-under-wine 10 scripts/wine/same-bytes.sh
}

stage_fuzz() { lane fuzz 20 scripts/fuzz.sh "${FUZZTIME:-1}"; }

stage_window() {
	lane install 5 packaging/linux/install_test.sh
	local c
	for c in Xvfb xdotool import; do
		if ! command -v $c >/dev/null; then
			skip window "$c is missing"
			skip window-threads "$c is missing"
			return
		fi
	done
	start_window_build
	if ! wait "$window_build" || ! make command >"$out/build-command.log" 2>&1; then
		echo "FAIL    build of the window and the command"
		tail -n 30 "$out/build-window.log" "$out/build-command.log"
		add 0 1 0 window
		return
	fi
	# Each has a display of its own, and waits for what the window shows.
	if command -v xclip >/dev/null; then
		LANGUAGES=en beside tour 10 ui/xvfb/tour.sh build/logparser build/logparse
	else
		skip tour "xclip is missing"
	fi
	lane window 10 ui/xvfb/run.sh build/logparser build/logparse
	end_beside
	beside window-record 10 ui/xvfb/record.sh build/logparser build/logparse
	beside monkey 10 ui/xvfb/monkey.sh build/logparser 15 7
	if [ -e build/test/logparser-checked ]; then
		lane window-threads 10 ui/xvfb/run.sh build/test/logparser-checked build/logparse
	else
		tail -n 30 "$out/build-window-threads.log"
		add 0 1 0 window-threads
	fi
	end_beside
}

# All of it is read before any of it runs: the file may change meanwhile.
main() {
	scripts/check-go.sh || exit 1
	CGO_ENABLED=0 go build -o build/tools/testcount ./scripts/testcount || exit 1

	begin=$(now)
	window_build=
	for stage in $stages; do
		echo
		echo "== $stage"
		start=$(now)
		p=$passed f=$failed s=$skipped
		spent
		before=$cpu
		"stage_$stage"
		spent
		report+=("$(printf '%-10s %5.1f min, %5.1f of processors  %6d passed %4d failed %4d skipped' "$stage" \
			"$(awk -v s="$(since "$start")" 'BEGIN { print s / 60 }')" "$(awk -v a="$before" -v b="$cpu" 'BEGIN { print (b - a) / 60 }')" \
			$((passed - p)) $((failed - f)) $((skipped - s)))")
	done
	[ -z "$window_build" ] || wait "$window_build" 2>/dev/null

	echo
	printf '%s\n' "${report[@]}"
	spent
	printf '%-10s %5.1f min, %5.1f of processors\n' all "$(awk -v s="$(since "$begin")" 'BEGIN { print s / 60 }')" \
		"$(awk -v s="$cpu" 'BEGIN { print s / 60 }')"
	for s in ${skips[@]+"${skips[@]}"}; do echo "skipped: $s"; done
	# What failed stands in the last lines, whatever stage it was in.
	for f in ${failures[@]+"${failures[@]}"}; do
		echo "failed: $f"
		failed_lines "$f" $((40 / ${#failures[@]} + 4))
	done
	echo "$passed passed, $failed failed, $skipped skipped" | tee "$out/counts"
	[ "$failed" -eq 0 ]
	exit
}

main
