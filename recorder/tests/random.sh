#!/bin/bash
# random.sh [PROGRAMS [RUNS [SEED]]]: programs made at random out of what is hard on a recorder, with it and without
# (scripts/randomprograms says what is compared). By default 200 programs, each recorded 20 times.
#
# The last line is "N passed, N failed, N skipped". Exit: 0 nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
export LC_ALL=C TMPDIR=$build
for v in $(compgen -e | grep '^LOGREC'); do unset "$v"; done
unset LD_PRELOAD
. "$here/newest.sh"
. "$here/library.sh"

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  echo "random.sh is for Linux x86-64" && exit 77
fi
if ! setarch -R true 2>/dev/null; then
  echo "addresses cannot be kept from changing here" && exit 77
fi
gcc=$(newest gcc) || {
  echo "gcc is not here" && exit 77
}
compilers=$gcc$(clang=$(newest clang) && echo ",$clang")
recorder "$gcc" "" || exit 1
(cd "$here/../.." && CGO_ENABLED=0 go build -o "$build/randomprograms" ./scripts/randomprograms) || exit 2
"$build/randomprograms" -recorder "$lib" -tests "$here" -compilers "$compilers" -programs "${1:-200}" -runs "${2:-20}" -seed "${3:-1}" ${WITHOUT:+-without "$WITHOUT"}
