#!/bin/bash
# lint.sh runs one of the checks that need no program but Go and bash.
#
#	scripts/lint.sh gofmt|vet|shell
set -u
cd "$(dirname "$0")/.."

sources() { find . -name "$1" -not -path './build/*' -not -path './.git/*'; }

case ${1:-} in
gofmt)
	bad=$(sources '*.go' | xargs gofmt -l)
	[ -z "$bad" ] || { printf 'not formatted:\n%s\n' "$bad" && exit 1; }
	;;
vet)
	CGO_ENABLED=0 go vet -p 2 -tags ci,migrated_fynedo ./...
	;;
shell)
	status=0
	for f in .ci/run $(sources '*.sh'); do
		bash -n "$f" || status=1
		if head -c 2 "$f" | grep -q "#!" && [ ! -x "$f" ]; then echo "$f is not executable" && status=1; fi
	done
	exit $status
	;;
*)
	echo "usage: lint.sh gofmt|vet|shell" >&2
	exit 2
	;;
esac
