#!/bin/bash
# bench.sh runs the benchmarks of every package, one package after another so
# that they do not slow each other down, and keeps the figures in
# build/bench.txt.
#
#	scripts/bench.sh [REGEXP]
set -u -o pipefail
cd "$(dirname "$0")/.."

which=${1:-.}
mkdir -p build
export CGO_ENABLED=0
{
	echo "$(go env GOVERSION), $(nproc) cores, $(uname -sr), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)"
	status=0
	for dir in $(grep -rlE --include='*_test.go' '^func Benchmark[A-Z0-9_]' . | grep -v '^./build/' | xargs -r -n 1 dirname | sort -u); do
		go test -tags ci,migrated_fynedo -run '^$' -bench "$which" -benchmem -timeout 60m "$dir" || status=1
	done
	exit $status
} 2>&1 | tee build/bench.txt
