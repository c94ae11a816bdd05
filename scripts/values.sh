#!/bin/bash
# values.sh holds arguments and results of calls against what others say of them.
#
#	scripts/values.sh
#
# What uftrace shows of its own test programs, where the distribution's source package can be had, and of two of ours with
# the same prototypes; what 107 functions for arm64 say themselves, run by qemu. Every difference is printed, and how many
# values each shows. All of it is kept in build/values.txt. The exit status is 1 if LogParser shows less than uftrace, or
# if the two differ and it is not known why.
set -u
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 CONFORMANCE=1
mkdir -p build
if why=$(scripts/debian-source.sh uftrace "$PWD/build/programs" uftrace 2>&1); then
	export UFTRACE_TESTS=$PWD/build/programs/uftrace/tests
else
	echo "left out: the test programs of uftrace; $why"
fi
go test -count 1 -v -timeout 60m -run '^(TestUftrace|TestPrototypesARM64)$' ./cmd/logparse >build/values.txt 2>&1
status=$?
sed -n 's/^ *[a-z0-9_]*_test\.go:[0-9]*: \(difference\|less\|scores\)|/\1: /p' build/values.txt
grep -E 'values of [0-9]+ functions are known|^ *--- (FAIL|SKIP)|_test.go:[0-9]+: (there is no|clang builds)' build/values.txt
[ $status -eq 0 ] || echo "FAILED; the whole output is in build/values.txt"
exit $status
