#!/bin/bash
# build.sh cross-builds the two Windows programs with MinGW.
#
#	VERSION=1.2.3 packaging/windows/build.sh FOLDER [window|command]
set -eu
cd "$(dirname "$0")/../.."
. scripts/toolchains.sh

out=${1:?usage: build.sh FOLDER [window|command]}
only=${2:-}
version=${VERSION:-0.0.0}
mkdir -p "$out"

IFS=. read -r major minor patch _ <<<"$version.0.0.0"

# resource PACKAGE FILE DESCRIPTION writes the object that "go build" links
# into the package for Windows.
resource() {
	x86_64-w64-mingw32-windres -I assets -I packaging/windows -O coff \
		-DVERSION_NUMBERS="$major,$minor,$patch,0" -DVERSION_TEXT="\\\"$version\\\"" \
		-DFILE_NAME="\\\"$2\\\"" -DDESCRIPTION="\\\"$3\\\"" \
		packaging/windows/app.rc -o "$1/rsrc_windows_amd64.syso"
}
# Left behind they would only be in the way of other builds.
trap 'rm -f rsrc_windows_amd64.syso cmd/logparse/rsrc_windows_amd64.syso' EXIT

if [ "$only" != window ]; then
	resource cmd/logparse logparse.exe "LogParser command"
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -ldflags "-s -w" -o "$out/logparse.exe" ./cmd/logparse
	ls -l "$out/logparse.exe"
fi
if [ "$only" != command ]; then
	resource . LogParser.exe LogParser
	# clang where it is there, for the reason given at cgo_compiler.
	v=$(clang_version)
	CC=x86_64-w64-mingw32-gcc
	[ -z "$v" ] || CC="clang-$v --target=x86_64-w64-mingw32 -fuse-ld=lld-$v"
	CC=$CC CGO_ENABLED=1 GOOS=windows GOARCH=amd64 go build -tags migrated_fynedo -trimpath \
		-ldflags "-s -w -H=windowsgui -compressdwarf=false" -o "$out/LogParser.exe" .
	ls -l "$out/LogParser.exe"
fi
