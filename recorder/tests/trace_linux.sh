#!/bin/bash
# trace_linux.sh OUT [LANE...]: builds LogTest with gcc and clang, at -O0 and at
# -O2, records it with the trace recorder by one way in at a time, and leaves
# the traces and truths in OUT, a folder a lane, for TestTraceLogTest of
# cmd/logparse:
#
#	linux-COMPILER-object-LEVEL   the LogEnterLeave object
#	linux-COMPILER-hooks-LEVEL    -finstrument-functions, linked
#	linux-COMPILER-preload-LEVEL  -finstrument-functions, LD_PRELOAD
#	linux-COMPILER-fentry-LEVEL   -pg -mfentry (gcc: -minstrument-return=call), x86-64
#	linux-COMPILER-nops-LEVEL     -fpatchable-function-entry, patched: enters only, x86-64
#	linux-gcc-mcount-LEVEL        -mnop-mcount, -minstrument-return=nop5, patched, x86-64
#	linux-clang-xray-LEVEL        -fxray-instrument, patched, x86-64
#
# With LANEs only those are made. The last line is "N passed, N failed, N
# skipped"; exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../include samples=$here/../samples/logtest
[ $# -gt 0 ] || { echo "usage: trace_linux.sh OUT [LANE...]" >&2 && exit 2; }
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 2
shift
lanes=$*
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
passed=0 failed=0 skipped=0
warnings="-Wall -Wextra -Werror"
export LC_ALL=C
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGTEST_TRUTH LD_PRELOAD; do unset $v; done
unset LOGREC_PATCH

. "$here/newest.sh"
. "$here/library.sh"

skip() { echo "$1: skipped: $2"; skipped=$((skipped + 1)); }

# record CXX LIBRARY-DIR WAY FLAGS: builds and runs LogTest in the current folder.
record() {
  local cxx=$1 library="-L$2 -llogrec -Wl,-rpath,$2" preload='' patch='' hooks=-DLOGTEST_HOOKS code='' f
  local flags="-std=c++11 -g $4 $warnings -pthread -fPIC -DLOGPARSER_TRACE -I$include"
  # Code that would need the recorder, and that nothing calls, is left out.
  case $3 in preload | xray) library=-Wl,--gc-sections flags="$flags -ffunction-sections" ;; esac
  # The lists of gcc would be left out with what nothing calls.
  case $3 in nops | mcount) echo 'void logrec_enter_return(void) {} void logrec_leave_return(void) {}' >"$build/unused.c" &&
    $cxx -x c -fPIC -fvisibility=hidden -c "$build/unused.c" -o "$build/unused.o" 2>/dev/null && library=$build/unused.o ;; esac
  case $3 in preload | nops | mcount | xray) preload=$2/liblogrec.so ;; esac
  case $3 in nops | mcount | xray) patch=1 ;; esac
  case $3 in
  object) hooks= ;;
  hooks | preload) hooks="$hooks -finstrument-functions" ;;
  fentry) case $cxx in *clang*) hooks="$hooks -pg -mfentry" ;; *) hooks="$hooks -pg -mfentry -minstrument-return=call" ;; esac ;;
  nops) hooks="$hooks -fpatchable-function-entry=7,2" ;;
  # A library cannot have its hooks for enters replaced by nops: it calls them.
  mcount)
    hooks="$hooks -pg -mfentry -minstrument-return=nop5 -mrecord-return" code="-mnop-mcount -mrecord-mcount -fno-pie -no-pie" ;;
  xray) hooks="$hooks -fxray-instrument -fxray-instruction-threshold=1" ;;
  esac
  $cxx $flags $hooks -DLOGTEST_SHAPES -c "$samples/shapes.cpp" -o "$build/shapes.o" &&
    $cxx $flags ${hooks:+-DLOGTEST_HOOKS} -DLOGTEST_SHAPES -c "$samples/truth.cpp" -o "$build/truth.o" &&
    $cxx -shared "$build/shapes.o" "$build/truth.o" $library -Wl,--build-id -o liblogtest_shapes.so || return 1
  for f in main work; do $cxx $flags $hooks $code -c "$samples/$f.cpp" -o "$build/$f.o" || return 1; done
  $cxx $flags ${hooks:+-DLOGTEST_HOOKS} -c "$samples/threads.cpp" -o "$build/threads.o" &&
    $cxx $code "$build/main.o" "$build/work.o" "$build/threads.o" -L. -llogtest_shapes $library -Wl,-rpath,'$ORIGIN' -Wl,--build-id \
      -pthread -o logtest || return 1
  # A preloaded library must not be seen by anything but the program.
  env LOGREC_FILE=LogDetails.lptrace ${patch:+LOGREC_PATCH=1} ${preload:+LD_PRELOAD=$preload} ./logtest && [ -s LogDetails.lptrace ] && [ -s LogDetails.truth ]
}

lane() { # NAME CXX LIBRARY-DIR WAY FLAGS
  local d=$out/$1
  if [ -n "$lanes" ]; then
    case " $lanes " in *" $1 "*) ;; *) return ;; esac
  fi
  rm -rf "$d" && mkdir -p "$d" || exit 2
  if (cd "$d" && record "$2" "$3" "$4" "$5") >"$build/log" 2>&1; then
    echo "$1: recorded, $(stat -c %s "$d/LogDetails.lptrace") bytes"
    passed=$((passed + 1))
  else
    # Half a lane would be compared with the truth.
    rm -f "$d/LogDetails.lptrace"
    echo "$1: failed"
    cat "$build/log"
    failed=$((failed + 1))
  fi
}

if [ "$(uname -s)" != Linux ]; then
  skip linux "this is no Linux"
else
  for compiler in gcc clang; do
    if ! cc=$(newest $compiler) || ! cxx=$(newest $([ $compiler = gcc ] && echo g++ || echo clang++)); then
      skip "linux-$compiler" "$compiler is missing"
      continue
    fi
    recorder "$cc" "" || { echo "the recorder does not build with $cc" && failed=$((failed + 1)) && continue; }
    for way in object hooks preload fentry nops $([ $compiler = gcc ] && echo mcount || echo xray); do
      case $way in fentry | nops | mcount | xray)
        if [ "$(uname -m)" != x86_64 ]; then
          skip "linux-$compiler-$way" "it is for x86-64 only"
          continue
        fi ;;
      esac
      for level in O0 O2; do
        # Before version 13 gcc hangs the whole list on the first function of a file. Where that is one of
        # a header, as here, the linker leaves the list out with it.
        [ $compiler$way$level = gccnopsO0 ] && skip "linux-gcc-nops-O0" "gcc loses the list of functions" && continue
        lane "linux-$compiler-$way-$level" "$cxx" "$lib" $way -$level
      done
    done
  done
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
