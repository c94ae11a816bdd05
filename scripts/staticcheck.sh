#!/bin/bash
# staticcheck.sh runs staticcheck in a version that the Go at hand can build,
# outside go.mod. Exit status 77 where there is none.
set -u
cd "$(dirname "$0")/.."

# 0.7.0 is the first to need Go 1.25; 0.6.1 also reads the code of Go 1.26.
minor=$(go env GOVERSION | sed -n 's/.*go1\.\([0-9]*\).*/\1/p')
version=v0.7.0
[ "${minor:-99}" -ge 25 ] || version=v0.6.1

tool=$PWD/build/tools/staticcheck-$version-go1.$minor
if [ ! -x "$tool" ]; then
	if ! GOBIN=$PWD/build/tools/bin GOFLAGS= CGO_ENABLED=0 go install -p 2 "honnef.co/go/tools/cmd/staticcheck@$version"; then
		echo "staticcheck $version cannot be had with $(go env GOVERSION)"
		exit 77
	fi
	mv build/tools/bin/staticcheck "$tool"
fi

found=$(CGO_ENABLED=0 "$tool" -tags ci,migrated_fynedo ./... 2>&1)
status=$?
if grep -q -E 'unsupported version|could not load export data|was built with' <<<"$found"; then
	echo "$found" | head -n 5
	echo "staticcheck $version does not know $(go env GOVERSION)"
	exit 77
fi
echo "$found"
exit $status
