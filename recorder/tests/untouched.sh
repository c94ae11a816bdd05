#!/bin/bash
# untouched.sh [PROGRAM...]: what programs do, with the recorder and without.
#
# Each C source of untouched/ (or each PROGRAM of it) is built with gcc and clang without hooks, and with them by each
# way in:
#
#	preloaded   -finstrument-functions, the recorder preloaded
#	linked      -finstrument-functions, linked with the recorder
#	fentry      -pg -mfentry, linked, PIE and not
#	off         the first and third with LOGREC=off
#
# One of them is built with sanitizers, also those whose runtime is a library of its own, and for musl, and runs as a child of a shell, too,
# which is recorded with it; what is not here is skipped.
#
# By all it must print what it prints without hooks, and end as it does. Where something is recorded there is a log, which
# can be read. The recorder itself must need nothing of the C library that a program can stand in for.
# The last line is "N passed, N failed, N skipped". Exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../include root=$here/../..
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
passed=0 failed=0 skipped=0
export LC_ALL=C
for v in $(compgen -e | grep '^LOGREC'); do unset "$v"; done
unset LD_PRELOAD
. "$here/newest.sh"
. "$here/library.sh"

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  echo "untouched.sh is for Linux x86-64" && exit 77
fi
logparse=
command -v go >/dev/null && (cd "$root" && CGO_ENABLED=0 go build -o "$build/logparse" ./cmd/logparse) && logparse=$build/logparse

pass() { passed=$((passed + 1)); }
fail() { failed=$((failed + 1)) && echo "FAIL $*"; }

# outcome FILE VARIABLE... PROGRAM: what it prints and how it ends. It may wait with all signals blocked.
outcome() {
  local to=$1
  shift
  { (cd "$build/run" && ulimit -c 0 && exec timeout -s KILL ${limit:-60} env "$@") >"$to" 2>&1; } 2>/dev/null
  echo "status $?" >>"$to"
}

# compare NAME LOGS VARIABLE... PROGRAM: LOGS is 0 where nothing is recorded.
compare() {
  local name=$1 logs=$2 log made=0
  shift 2
  rm -rf "$build/run/log" && mkdir -p "$build/run/log"
  outcome "$build/is" LOGREC_FILE=log/ "$@"
  if ! cmp -s "$build/must" "$build/is"; then
    fail "$name: $(head -c 300 "$build/is" | tr '\n' ' '), not $(head -c 300 "$build/must" | tr '\n' ' ')"
    return
  fi
  for log in "$build"/run/log/*.lptrace; do
    [ -e "$log" ] || continue
    made=$((made + 1))
    [ -z "$logparse" ] || "$logparse" info "$log" --no-index-cache --no-recorded-paths >"$build/info" 2>&1 || {
      fail "$name: $(head -n 1 "$build/info")"
      return
    }
  done
  [ $((made > 0)) = "$logs" ] || {
    fail "$name: $made logs"
    return
  }
  pass
}

# alone LIBRARY: the preloaded library's needs.
alone() {
  local needs
  needs=$(nm -D --undefined-only "$1/liblogrec.so" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | grep -vxE '__environ|environ|__errno_location' | tr '\n' ' ')
  [ -z "$needs" ] && pass || fail "$1: the recorder needs $needs"
}

check() { # CC SOURCE
  local cc=$1 source=$2 name fentry="-pg -mfentry" pie
  name="$(basename "$source" .c) $(basename "$cc")"
  local flags="-O1 -g -w -fno-inline -fno-builtin -pthread" hooks=-finstrument-functions
  case $cc in *gcc*) fentry="$fentry -minstrument-return=call" ;; esac
  rm -rf "$build/run" && mkdir -p "$build/run"
  $cc $flags "$source" -o "$build/run/plain" -ldl || { fail "$name: it is not built" && return; }
  outcome "$build/must" ./plain
  # A resolver that is bound late has no hooks that it could call, with the recorder or without.
  $cc $flags $hooks -Wl,-z,now "$source" -o "$build/run/preloaded" -ldl &&
    $cc $flags $hooks "$source" "$lib/liblogrec.a" -o "$build/run/linked" -ldl || { fail "$name: it is not built" && return; }
  compare "$name preloaded" 1 LD_PRELOAD="$lib/liblogrec.so" ./preloaded
  compare "$name preloaded, off" 0 LOGREC=off LD_PRELOAD="$lib/liblogrec.so" ./preloaded
  compare "$name linked" 1 ./linked
  for pie in "-fPIE -pie" "-fno-pie -no-pie"; do
    # With -pg the linker takes what begins gprof's profile, too.
    $cc $flags $fentry $pie -c "$source" -o "$build/fentry.o" && $cc $pie -pthread "$build/fentry.o" "$lib/liblogrec.a" -o "$build/run/fentry" -ldl || { fail "$name: it is not built" && return; }
    compare "$name fentry $pie" 1 ./fentry
  done
  compare "$name fentry, off" 0 LOGREC=off ./fentry
}

# other NAME LOGS BUILD...: a program that is built in another way, preloaded, and as a child and a script's.
other() {
  local name=$1 logs=$2
  shift 2
  rm -rf "$build/run" && mkdir -p "$build/run"
  if ! (cd "$build/run" && "$@" "$here/untouched/threads.c" -o program) >"$build/log" 2>&1; then
    skipped=$((skipped + 1)) && echo "$name: skipped: it is not built: $(head -n 1 "$build/log" | cut -c 1-120)"
    return
  fi
  outcome "$build/must" ./program
  compare "$name" "$logs" LD_PRELOAD="$lib/liblogrec.so" ./program
  compare "$name, child" "$logs" LD_PRELOAD="$lib/liblogrec.so" sh -c './program'
  printf '#!/bin/sh\n./program\n' >"$build/run/script" && chmod +x "$build/run/script"
  compare "$name, script" "$logs" LD_PRELOAD="$lib/liblogrec.so" ./script
}

others() { # CC
  local cc=$1 kind flags="-O1 -g -w -pthread -finstrument-functions" shared= folder
  case $cc in *clang*)
    folder=$(dirname "$($cc -print-file-name=libclang_rt.asan-x86_64.so)")
    [ "$folder" = . ] || shared="-shared-libasan -Wl,-rpath,$folder" ;;
  esac
  for kind in address thread undefined; do other "$kind $(basename "$cc")" 1 $cc $flags -fsanitize=$kind; done
  [ -z "$shared" ] || other "address, shared $(basename "$cc")" 1 $cc $flags -fsanitize=address $shared
  # musl's library has no hooks of its own, which a program could be linked with.
  command -v musl-gcc >/dev/null || { skipped=$((skipped + 1)) && echo "musl: skipped: musl-gcc is not here" && return; }
  echo 'void __cyg_profile_func_enter(void *a, void *b) { (void)a, (void)b; } void __cyg_profile_func_exit(void *a, void *b) { (void)a, (void)b; }' >"$build/stub.c"
  musl-gcc -fPIC -shared "$build/stub.c" -o "$build/libstub.so" || return
  other "musl, $(basename "$cc")'s library" 1 musl-gcc $flags "-L$build" -Wl,--no-as-needed -lstub "-Wl,-rpath,$build"
  other "musl, no hooks, $(basename "$cc")'s library" 0 musl-gcc -O1
}

sources=()
for p in "$@"; do sources+=("$here/untouched/$p.c"); done
[ $# -gt 0 ] || sources=("$here"/untouched/*.c)
for kind in gcc clang; do
  cc=$(newest $kind) || {
    echo "$kind: skipped: it is not here"
    skipped=$((skipped + ${#sources[@]}))
    continue
  }
  recorder "$cc" "" || exit 1
  alone "$lib"
  for source in "${sources[@]}"; do check "$cc" "$source"; done
  [ $# -gt 0 ] || others "$cc"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
