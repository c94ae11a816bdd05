#!/bin/bash
# fuzz.sh fuzzes every target of the module for a while.
#
#	scripts/fuzz.sh SECONDS [PACKAGE...]
#
# Two targets run at once. The last line counts the targets by how they ended.
# An input that breaks a target is left in the package's testdata/fuzz folder,
# as "go test -fuzz" does, and printed.
set -u
cd "$(dirname "$0")/.."

seconds=${1:-10}
[ $# -eq 0 ] || shift
if [ $# -gt 0 ]; then
	dirs=$*
else
	dirs=$(grep -rlE --include='*_test.go' '^func Fuzz[A-Z0-9_]' . | grep -v '^./build/' | xargs -r -n 1 dirname | sort -u)
fi
export CGO_ENABLED=0

binaries=$(mktemp -d)
trap 'rm -rf "$binaries"' EXIT
cache=$(go env GOCACHE)/fuzz

# build_one DIR builds the package's tests once for all of its targets, which it prints as
# DIR:TARGET.
build_one() {
	local dir=$1 binary=$binaries/${1//\//_}
	if ! go test -c -fuzz . -o "$binary" "$dir" >"$binary.log" 2>&1; then
		echo "$dir:does-not-build"
		return
	fi
	(cd "$dir" && "$binary" -test.list '^Fuzz') | sed "s|^|$dir:|"
}

# Minimising is cut short: on inputs of some size it would take all the time.
# fuzz_one DIR:TARGET prints "ok" or "FAIL" and what it found.
fuzz_one() {
	local dir=${1%:*} target=${1#*:} output try
	local binary=$binaries/${dir//\//_}
	output=$(cat "$binary.log")
	for try in 1 2 3 4 5; do
		[ "$target" != does-not-build ] || break
		if output=$(cd "$dir" && timeout -k 10 $((seconds + 300)) "$binary" -test.run '^$' -test.fuzz "^$target\$" -test.fuzztime "${seconds}s" \
			-test.fuzzminimizetime 10x -test.parallel 1 -test.fuzzcachedir "$cache/logparser/${dir#./}" -test.timeout $((seconds + 300))s 2>&1); then
			echo "ok      $dir $target: $(grep -oE 'execs: [0-9]+' <<<"$output" | tail -n 1)"
			return
		fi
		# The runner sometimes takes the end of its own time for a failure.
		grep -q 'context deadline exceeded' <<<"$output" && ! grep -q 'Failing input' <<<"$output" || break
	done
	echo "FAIL    $dir $target"
	tail -n 40 <<<"$output" | sed 's/^/        /'
	for input in $(grep -oE 'testdata/fuzz/[^ ]+' <<<"$output" | sort -u); do
		[ ! -f "$dir/$input" ] || { echo "        $dir/$input:" && head -c 2000 "$dir/$input" | sed 's/^/        /'; }
	done
}
export -f build_one fuzz_one
export seconds binaries cache

# The first alone: what it compiles is there for the others.
targets=$(
	set -- $dirs
	[ $# -eq 0 ] || build_one "$1"
	[ $# -le 1 ] || printf '%s\n' "${@:2}" | xargs -n 1 -P 2 bash -c 'build_one "$0"'
)
if [ -z "$targets" ]; then
	echo "no fuzz target found"
	exit 1
fi
found=$(xargs -n 1 -P 2 bash -c 'fuzz_one "$0"' <<<"$targets")
echo "$found"

all=$(wc -l <<<"$targets")
ok=$(grep -c '^ok ' <<<"$found")
echo "$ok passed, $((all - ok)) failed"
[ "$ok" -eq "$all" ]
