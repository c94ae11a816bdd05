#!/bin/bash
# run.sh PROGRAM [ARGUMENT...] runs it under wine and ends as it does. About one
# start in 4,000 wine 8 ends with status 1 and without a word before the program
# begins, any program, on a busy machine: then it is started again, three times
# at most. What the program prints comes when it has ended.
set -u
said=$(mktemp -d) || exit 2
trap 'rm -rf "$said"' EXIT
for _ in 1 2 3; do
	wine "$@" >"$said/out" 2>"$said/err"
	status=$?
	[ $status -eq 1 ] && [ ! -s "$said/out" ] && [ ! -s "$said/err" ] || break
done
cat "$said/out"
cat "$said/err" >&2
exit $status
