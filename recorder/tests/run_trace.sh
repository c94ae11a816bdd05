#!/bin/bash
# run_trace.sh [KILLS [ROUNDS]]: builds the trace recorder for Linux and runs its
# tests with what is at hand: trace_test by each way in, with gcc and clang,
# linked and preloaded, under sanitizers, stacks_test and values_test. Two lanes run at a
# time. KILLS says how often a recording program is ended by force (100): in all
# lanes together, or in each of those that the variable LANES names; then only
# these run. ROUNDS is how often stacks_test's programs go round (20,000). The variable crash_rounds
# says how often each cause and place of a crash are tried (once), value_pointers how many calls get pointers to
# anything (up to 300,000).
#
# The last line is "N passed, N failed, N skipped". Exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../src include=$here/../include
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
kills=${1:-100} rounds=${2:-20000}
passed=0 failed=0 skipped=0
warnings="-Wall -Wextra -Werror"
export LC_ALL=C
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGREC_VALUES LOGTEST_TRUTH LD_PRELOAD; do unset $v; done

. "$here/newest.sh"
. "$here/library.sh"

skip() { echo "$1: skipped: $2"; skipped=$((skipped + 1)); }

# count NAME STATUS: by the last "N passed, N failed" line of its log.
count() {
  local line p f
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$build/$1.log" | tail -n 1)
  p=$(echo "$line" | cut -d' ' -f1) f=$(echo "$line" | cut -d' ' -f3)
  if [ -z "$line" ]; then
    p=0 f=1
  elif [ "$2" -ne 0 ] && [ "$f" = 0 ]; then
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f))
  # What the lane's shell has waited for. A subshell would tell of its own.
  times >"$build/$1.times"
  echo "$1: $p passed, $f failed, $(($(date +%s) - begun)) s, $(awk 'NR == 2 { split($1 "m" $2, a, /[ms]+/); printf "%.0f", (a[1] + a[3]) * 60 + a[2] + a[4] }' "$build/$1.times") s of processors"
  [ "$f" = 0 ] || cat "$build/$1.log"
}

# programs DIR CXX FLAGS HOOKS LIBRARY: the variable SUBJECT has flags for the subject alone.
programs() {
  local d=$1 cxx=$2 n leaf=
  # The subject overflows no buffer, but reads address 8 and recurses on purpose.
  local flags="-std=c++11 -O2 -g $warnings -pthread -I$include $3"
  mkdir -p "$d/plugins"
  case ${SUBJECT-} in *LEAF_IN_LIBRARY*)
    $cxx $flags -fPIC -shared "$here/trace_leaf.cpp" -o "$d/plugins/libleaf.so" -Wl,--build-id || return 1
    leaf="-L$d/plugins -lleaf -Wl,-rpath,$d/plugins" ;;
  esac
  $cxx $flags $4 ${SUBJECT-} "$here/trace_subject.cpp" $5 $leaf -o "$d/subject" -ldl -rdynamic || return 1
  for n in A B; do
    $cxx $flags $4 -fPIC -shared -DNAME=plugin$n "$here/trace_module.cpp" -o "$d/plugins/lib$n.so" -Wl,--build-id || return 1
  done
  $cxx $flags $4 -fPIC -shared "$here/trace_malloc.cpp" -o "$d/plugins/libM.so" || return 1
}

# Only the lanes that LANES names, if it is set.
chosen() { [ -z "${LANES-}" ] || case " $LANES " in *" $1 "*) ;; *) return 1 ;; esac; }

# suite NAME CC CXX FLAGS HOOKS LIBRARY [OPTION...]: LIBRARY is static, shared
# or preload.
suite() {
  local name=$1 cc=$2 cxx=$3 flags=$4 hooks=$5 form=$6 d=$build/$1 library lib
  chosen "$name" || return
  shift 6
  begun=$(date +%s)
  {
    mkdir -p "$d" && recorder "$cc" "$flags" &&
      case $form in
      static) library=$lib/liblogrec.a ;;
      shared) library="-L$lib -llogrec -Wl,-rpath,$lib" ;;
      # Found by its soname, which the preloaded library has: so do the hooks
      # come from there.
      preload) library="-L$lib -llogrec" ;;
      esac &&
      programs "$d" "$cxx" "$flags" "$hooks" "$library" &&
      "$build/trace_test" "$d/subject" "$d/plugins" $([ $form = preload ] && echo "preload=$lib/liblogrec.so") "$@"
  } >"$build/$name.log" 2>&1
  count "$name" $?
}

# at_once FUNCTION NAME ARGUMENT... runs a lane beside another one.
names=()
at_once() {
  chosen "$2" || return 0
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  names+=("$2")
  (
    trap - EXIT
    passed=0 failed=0
    "$@" >"$build/$2.report" 2>&1
    echo "$passed $failed" >"$build/$2.counts"
  ) &
}

# all_done waits for the lanes, and adds their counts.
all_done() {
  local name p f
  wait
  for name in ${names[@]+"${names[@]}"}; do
    cat "$build/$name.report"
    read -r p f <"$build/$name.counts" || p=0 f=1
    passed=$((passed + p)) failed=$((failed + f))
  done
}

# crashes NAME CC CXX FORM [OPTION...]: how the program dies, with the recorder and without.
crashes() {
  local name=$1 cc=$2 cxx=$3 form=$4 d=$build/$1 lib library
  local flags="-std=c++11 -O1 -g $warnings -Wno-deprecated-declarations -pthread -rdynamic"
  chosen "$name" || return
  shift 4
  begun=$(date +%s)
  {
    mkdir -p "$d" && recorder "$cc" "" &&
      case $form in
      static) library=$lib/liblogrec.a ;;
      preload) library="-L$lib -llogrec" ;;
      esac &&
      $cxx $flags "$here/crash_subject.cpp" -o "$d/plain" -ldl &&
      $cxx $flags $cyg -DRECORDED -I"$include" "$here/crash_subject.cpp" $library -o "$d/recorded" -ldl &&
      $cxx -fPIC -shared "$here/crash_module.cpp" -o "$d/libcrash.so" -ldl &&
      "$build/crash_test" "$d/plain" "$d/recorded" "$d/libcrash.so" $([ $form = preload ] && echo "preload=$lib/liblogrec.so") "$@"
  } >"$build/$name.log" 2>&1
  count "$name" $?
}

# backtraces NAME: the sample's calls, named by the command, are those of its source, whatever it was built by.
backtraces() {
  local sample=$here/../samples/backtrace d=$build/$1 cc lib lld want p=0 f=0
  begun=$(date +%s)
  mkdir -p "$d"
  # gcc wants it by the name without a version.
  lld=$(newest ld.lld) && ln -s "$lld" "$d/ld.lld"
  want=$(for how in logrec_backtrace_frames logrec_backtrace; do
    for call in bt.c:$how\( bt.c:test2\(\) bt_so.c:back\(\) bt.c:in_library\( bt.c:test\(\); do
      echo "${call%%:*}:$(grep -n "^ .*${call#*:}" "$sample/${call%%:*}" | head -n 1 | cut -d: -f1)"
    done
  done)
  recorder gcc "" >"$build/$1.log" 2>&1
  for cc in gcc "gcc -no-pie" ${lld:+"gcc -B$d -fuse-ld=lld" "gcc -B$d -fuse-ld=lld -no-pie"} ${clang:+"$clang" "$clang -no-pie" "$clang -fuse-ld=lld" "$clang -fuse-ld=lld -no-pie"}; do
    if ${cc% -no-pie} -g -I"$include" -fPIC -shared "$sample/bt_so.c" -o "$d/libbt_so.so" &&
      $cc -g $warnings -I"$include" "$sample/bt.c" "$d/libbt_so.so" "$lib/liblogrec.a" -Wl,-rpath,"$d" -ldl -pthread -o "$d/bt" &&
      "$d/bt" | "$logparse" symbolize >"$d/out" && [ "$(grep -o 'bt[a-z_]*\.c:[0-9]*' "$d/out" | head -n 10)" = "$want" ]; then
      p=$((p + 1))
    else
      f=$((f + 1)) && echo "$cc: not" $want && cat "$d/out"
    fi
  done >>"$build/$1.log" 2>&1
  for cc in gcc ${clang:+"$clang"}; do
    if $cc -g -O1 $warnings -fno-omit-frame-pointer -fno-optimize-sibling-calls -I"$include" "$here/frames_test.c" "$lib/liblogrec.a" -ldl -pthread \
      -o "$d/frames" && "$d/frames"; then
      p=$((p + 1))
    else
      f=$((f + 1))
    fi
  done >>"$build/$1.log" 2>&1
  echo "$p passed, $f failed" >>"$build/$1.log"
  count "$1" 0
}

# stacks NAME CC CXX FLAGS [OPTION...]: several stacks, and calls that are left; -O0 and -O2.
stacks() {
  local name=$1 cc=$2 cxx=$3 flags=$4 d=$build/$1 level nested= log=$build/$1.log lib
  chosen "$name" || return
  shift 4
  begun=$(date +%s)
  (
    mkdir -p "$d" && recorder "$cc" "$flags" || exit 1
    if [ "$cc" = gcc ] && [ "$(uname -m)" = x86_64 ]; then
      # Trampolines lie on the stack.
      gcc -O0 -g $warnings $flags -pg -mfentry -minstrument-return=call "$here/stacks_nested.c" "$lib/liblogrec.a" -o "$d/nested" -ldl -pthread \
        -z execstack || exit 1
      nested=nested=$d/nested
    fi
    for level in -O0 -O2; do
      $cxx -std=c++11 $level -g $warnings -pthread -I"$include" $flags $cyg "$here/stacks_subject.cpp" "$lib/liblogrec.a" -o "$d/subject$level" -ldl &&
        "$build/stacks_test" "$d/subject$level" $nested ${logparse:+logparse=$logparse} "$@" || echo "0 passed, 1 failed"
    done
  ) >"$log.all" 2>&1 || echo "0 passed, 1 failed" >>"$log.all"
  # One line for both.
  awk '{ print } /^[0-9]+ passed, / { p += $1; f += $3 } END { print p + 0 " passed, " f + 0 " failed" }' "$log.all" >"$log"
  count "$name" 0
}

# values NAME CC CXX FLAGS HOOKS [OPTION...]: arguments and results, by a plan and by the program itself.
values() {
  local name=$1 cc=$2 cxx=$3 flags=$4 hooks=$5 d=$build/$1 lib
  chosen "$name" || return
  shift 5
  begun=$(date +%s)
  {
    mkdir -p "$d" && recorder "$cc" "$flags" &&
      $cxx -std=c++11 -O2 -g $warnings -pthread $flags $hooks -c "$here/values_subject.cpp" -o "$d/subject.o" &&
      $cxx $flags -pthread "$d/subject.o" "$lib/liblogrec.a" -o "$d/values_subject" -ldl -Wl,--build-id &&
      case $hooks in
      # The plan is made of the code.
      $cyg) "$logparse" values "$d/values_subject" -o "$d/values.lpvalues" -- 'vs_*' ;;
      *) "$here/values_plan.sh" "$here/values.plan" "$d/values_subject" >"$d/values.lpvalues" ;;
      esac &&
      $cc -std=c11 -O2 -g $warnings -Wpedantic -Wshadow -I"$include" $flags -c "$here/values_api.c" -o "$d/api_c.o" &&
      $cxx -std=c++11 -O2 -g $warnings -Wpedantic -Wshadow -pthread -I"$include" $flags "$here/values_api.cpp" "$d/api_c.o" "$lib/liblogrec.a" \
        -o "$d/values_api" -ldl && "$build/values_test" "$d/values_subject" "$d/values.lpvalues" "$d/values_api" "$@" ${value_pointers:+"pointers=$value_pointers"}
  } >"$build/$name.log" 2>&1
  count "$name" $?
}

if [ "$(uname -s)" != Linux ] || ! command -v g++ >/dev/null; then
  skip trace "no Linux, or g++ is missing"
  echo "$passed passed, $failed failed, $skipped skipped"
  exit 0
fi
clangxx=$(newest clang++) || clangxx=
clang=$(newest clang) || clang=
g++ -std=c++11 -O1 $warnings "$here/trace_test.cpp" -o "$build/trace_test" &&
  g++ -std=c++11 -O1 $warnings "$here/trace_dump.cpp" -o "$build/trace_dump" &&
  g++ -std=c++11 -O1 $warnings "$here/crash_test.cpp" -o "$build/crash_test" &&
  g++ -std=c++11 -O1 $warnings "$here/values_test.cpp" -o "$build/values_test" &&
  g++ -std=c++11 -O1 $warnings "$here/stacks_test.cpp" -o "$build/stacks_test" || exit 1
# Where there is Go the real reader reads, too.
logparse=
command -v go >/dev/null && (cd "$here/../.." && CGO_ENABLED=0 go build -o "$build/logparse" ./cmd/logparse) && logparse=$build/logparse

if chosen names; then
  begun=$(date +%s)
  sanitize="-O1 -g $warnings -fsanitize=address,undefined -fno-sanitize-recover=undefined"
  (cd "$build" && gcc -std=c99 $sanitize -DLOGREC_NO_INTERPOSE -I"$include" -c "$src/demangle.c" "$src/own_linux.c" "$src/lookup_linux.c") &&
    g++ -std=c++11 $sanitize "$here/names_test.cpp" "$build/demangle.o" "$build/own_linux.o" "$build/lookup_linux.o" -o "$build/names_test" && "$build/names_test" >"$build/names.log" 2>&1
  count names $?
fi

if [ -n "$logparse" ]; then
  chosen backtraces && backtraces backtraces
else
  skip backtraces "go is missing"
fi

cyg=-finstrument-functions
# share TENTHS: a lane's part of the kills.
share() { [ -n "${LANES-}" ] && echo "kills=$kills" || echo "kills=$(((kills * $1 + 9) / 10))"; }
# The longest come first.
# These handle signals in a way of their own, a death is theirs to report, and
# the last has no room for deep recursion and takes long for millions of calls.
# The thread sanitizer does not see the loader's lock. They begin later than
# .preinit_array, have allocators of their own and make system calls at the end.
at_once suite asan-ubsan gcc g++ "-fsanitize=address,undefined -fno-sanitize-recover=undefined" $cyg static scale=10 -kill -signal-jumps -full -triggers-full -small-stack -address-space -preinit -own-malloc -sandbox
at_once suite tsan gcc g++ -fsanitize=thread $cyg static scale=20 -deep -short -kill -signal-jumps -signals -full -triggers-full -vfork -raw-fork -fork-handlers -lists-threads -descriptors -small-stack -address-space -raw-fork-first -namespaces -daemon -handlers -preinit -own-malloc -sandbox
at_once suite gcc gcc g++ "" $cyg static "$(share 4)"
at_once suite gcc-shared gcc g++ "" $cyg shared "$(share 1)"
at_once suite gcc-preload gcc g++ "" $cyg preload "$(share 1)"
if [ "$(uname -m)" = x86_64 ]; then
  at_once suite gcc-fentry gcc g++ "" "-pg -mfentry -minstrument-return=call" static "$(share 1)" fentry -deep -short
  at_once suite gcc-fentry-ends-unseen gcc g++ "" "-pg -mfentry" static unseen -deep -short -switches "$(share 1)"
fi
if [ "$(uname -m)" = x86_64 ]; then
  at_once values gcc-values gcc g++ "" "-pg -mfentry -minstrument-return=call"
  at_once values gcc-values-O0 gcc g++ -O0 "-pg -mfentry -minstrument-return=call" no-tail pointers=100000
  # The program that it kills, and a filter of system calls, are not for sanitizers.
  at_once values asan-values gcc g++ "-fsanitize=address,undefined -fno-sanitize-recover=undefined" "-pg -mfentry -minstrument-return=call" \
    pointers=20000 -sandbox -kill
  # Its tail calls return.
  at_once values tsan-values gcc g++ -fsanitize=thread "-pg -mfentry -minstrument-return=call" no-tail late-signals pointers=20000 -sandbox -kill ${LANES:--wrong-plans}
  # Of -finstrument-functions: pointers to anything. The thread sanitizer's calls come before the hooks, so that no pointer is
  # known to be anywhere by then.
  if [ -n "$logparse" ]; then
    at_once values cyg-values gcc g++ "" $cyg only=pointers only=signals pointers=20000
    at_once values asan-cyg-values gcc g++ "-fsanitize=address,undefined -fno-sanitize-recover=undefined" $cyg only=pointers only=signals pointers=20000
  else
    skip cyg-values "go is missing"
  fi
  [ -z "$clangxx" ] || [ -z "$clang" ] || at_once values clang-values "$clang" "$clangxx" "" "-pg -mfentry" entries pointers=100000
fi
if [ -n "$clangxx" ] && [ -n "$clang" ]; then
  at_once suite clang $clang $clangxx "" $cyg static "$(share 3)" clang
  [ "$(uname -m)" = x86_64 ] && at_once suite clang-fentry $clang $clangxx "" "-pg -mfentry" static unseen -deep -short -switches "$(share 1)"
else
  skip clang "clang is missing"
fi
# Functions that are patched as the program starts, and calls into libraries: programs that are killed, a full disk,
# under sanitizers; the rest by name. A program with an address or thread sanitizer has its calls into libraries left out
# (record_libcalls_linux_test.go), so that only the third one's is here.
if [ "$(uname -m)" = x86_64 ]; then
  dying="only=calls only=plugins only=full only=kill only=triggers-full only=triggers-killed"
  more=${LANES:+only=threads only=fork}
  mcount="-pg -mfentry -minstrument-return=nop5 -mrecord-return"
  nops="-mnop-mcount -mrecord-mcount -fno-pie -no-pie"
  asan="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
  [ -z "$clangxx" ] || [ -z "$clang" ] || at_once suite clang-xray "$clang" "$clangxx" "" "-fxray-instrument -fxray-instruction-threshold=1 -fno-xray-link-deps" preload \
    "$(share 1)" clang patched $dying $more
  # Libraries are never built with nops in the place of calls of hooks.
  SUBJECT=$nops at_once suite gcc-mcount gcc g++ "" "$mcount" preload "$(share 1)" fentry patched $dying $more
  at_once suite gcc-patchable gcc g++ "" -fpatchable-function-entry=5 preload "$(share 1)" unseen patched $dying $more
  SUBJECT=-DLEAF_IN_LIBRARY at_once suite gcc-libcalls gcc g++ "" "" preload "$(share 1)" libcalls only=libcalls ${dying#only=calls only=plugins}
  SUBJECT=-DLEAF_IN_LIBRARY at_once suite ubsan-libcalls gcc g++ "-fsanitize=undefined -fno-sanitize-recover=undefined" "" preload kills=4 libcalls \
    only=libcalls ${dying#only=calls only=plugins}
  at_once suite asan-patchable gcc g++ "$asan" -fpatchable-function-entry=5 static scale=20 unseen patched only=calls only=plugins only=triggers-killed only=threads $more
  SUBJECT=$nops at_once suite asan-mcount gcc g++ "$asan" "$mcount" static scale=20 fentry patched only=calls only=plugins only=triggers-killed only=threads
  at_once suite tsan-patchable gcc g++ -fsanitize=thread -fpatchable-function-entry=5 static scale=20 unseen patched only=calls only=plugins only=triggers-killed only=threads
fi
at_once stacks gcc-stacks gcc g++ "" "rounds=$rounds"
at_once crashes gcc-crashes gcc g++ static ${crash_rounds:+rounds=$crash_rounds}
# Of the first mode what differs, and what may go wrong under other compilers.
at_once crashes gcc-crashes-first gcc g++ static first -thread -threads -large -fork
at_once crashes gcc-crashes-preload gcc g++ preload only=main only=ask only=own-handler
[ -z "$clangxx" ] || [ -z "$clang" ] || at_once crashes clang-crashes "$clang" "$clangxx" static only=main only=recorder only=small-stack
[ -z "$clangxx" ] || [ -z "$clang" ] || at_once stacks clang-stacks $clang $clangxx "" "rounds=$rounds" clang

all_done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
