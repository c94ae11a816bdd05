#!/bin/bash
# check-go.sh says in words what is wrong when there is no Go that can build
# this module, and prints nothing otherwise.
set -u
cd "$(dirname "$0")/.."

min=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' go.mod)

# enough VERSION: it is min or later; status 2 where it is no version.
enough() {
	[[ $1 =~ go([0-9]+)\.([0-9]+) ]] || return 2
	local major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
	[ "$major" -gt "${min%.*}" ] || { [ "$major" -eq "${min%.*}" ] && [ "$minor" -ge "${min#*.}" ]; }
}

# In the module's folder go answers for the toolchain that it would switch to.
problem=
if ! command -v go >/dev/null 2>&1; then
	problem="there is no go command in PATH"
elif ! version=$(go env GOVERSION 2>&1); then
	problem="$(command -v go) does not start: $version"
else
	enough "$version"
	case $? in
	0) exit 0 ;;
	1) problem="$(command -v go) is $version" ;;
	2) problem="$(command -v go) calls itself \"$version\"" ;;
	esac
fi

echo "LogParser needs Go $min or later, and $problem." >&2
for dir in /usr/local/go/bin /usr/lib/go-*/bin "${HOME:-/}"/sdk/go*/bin; do
	if [ -x "$dir/go" ] && enough "$("$dir/go" env GOVERSION 2>&1)"; then
		echo "There is one in $dir. Type: export PATH=$dir:\$PATH" >&2
		exit 1
	fi
done
echo "Get it from https://go.dev/dl/ (Debian 12's own package is too old) and put its bin folder into PATH." >&2
exit 1
