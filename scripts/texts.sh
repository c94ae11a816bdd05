#!/bin/bash
# texts.sh holds the verb symbolize against texts that the tools on this machine
# write about programs whose frames are known: debuggers, sanitizers, Valgrind,
# the kernel, handlers of libraries, Rust, Go, Java. It also holds stripped
# programs against their full twins, ELF and PE, by the verbs that name
# functions.
#
#	scripts/texts.sh
#
# Tools that are not here are listed with the reason. The exit status is 1 if a
# frame is wrong or missing, an argument was taken for a place, or a text was
# changed.
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/conformance
LOGPARSE_TOOLS=1 CGO_ENABLED=0 go test -count 1 -vet=off -v -run '^(TestTextsOfTools|TestPairs)$' ./cmd/logparse >build/conformance/texts.log 2>&1
status=$?
sed -n 's/^ *--- \(PASS\|FAIL\|SKIP\): \(TestTextsOfTools\|TestPairs\)\/\(.*\) (.*/texts|\3|\1/p' build/conformance/texts.log
[ $status -eq 0 ] || cat build/conformance/texts.log
exit $status
