#!/bin/bash
# run.sh: builds and runs the tests of the classic recorder with what is at
# hand; a missing compiler is named and its part counted as skipped. The last
# line is "N passed, N failed, N skipped". Exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../include
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
passed=0 failed=0 skipped=0
warnings="-Wall -Wextra -Werror"
common="-std=c++11 -g $warnings -pthread -I$include"
export WINEDEBUG=-all LC_ALL=C
unset LOGPARSER_LOG DISPLAY

. "$here/newest.sh"
clang=$(newest clang++) || clang=
version=$("${clang:-false}" -dumpversion 2>/dev/null | cut -d. -f1)
lld=$(command -v "ld.lld-$version" || command -v ld.lld || true)

skip() { echo "$1: skipped: $2"; skipped=$((skipped + 1)); }

# result NAME SECONDS LOG: counts a part by its "N passed, N failed" line.
result() {
  local line p f
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$3" | tail -n 1)
  p=$(echo "$line" | cut -d' ' -f1)
  f=$(echo "$line" | cut -d' ' -f3)
  if [ -z "$line" ]; then
    p=0 f=1
  fi
  passed=$((passed + p)) failed=$((failed + f))
  echo "$1: $p passed, $f failed, $2 s"
  [ "$f" = 0 ] || cat "$3"
}

# linux_driver COMPILER: the test itself, once for each compiler, whatever its subjects are built with.
linux_driver() {
  driver=$build/linux_test-${1//[^A-Za-z0-9+-]/_}
  [ -x "$driver" ] || $1 $common -O1 "$here/linux_test.cpp" -o "$driver"
}

# linux NAME COMPILER FLAGS [OPTION...]: the options are linux_test's.
linux() {
  local d=$build/$1 name=$1 cxx=$2 flags="$common $3" begun
  shift 3
  begun=$(date +%s)
  mkdir "$d"
  if $cxx $flags -fPIC -shared "$here/module.cpp" -o "$d/libmodule.so" &&
    $cxx $flags -fPIC -shared -DNAME=pluginLeaf "$here/module.cpp" -o "$d/libplugin.so" &&
    $cxx $flags "$here/subject.cpp" -o "$d/subject" -L"$d" -lmodule -Wl,-rpath,'$ORIGIN' -ldl -lrt &&
    linux_driver "$cxx"; then
    chmod 755 "$build" "$d"
    "$driver" "$d/subject" "$d/libplugin.so" "$@"
  fi >"$d/log" 2>&1
  result "$name" $(($(date +%s) - begun)) "$d/log"
}

# tail_calls: no caller may reach the object by a jump, and none may have it
# inlined, whatever the optimizer thinks of it.
tail_calls() {
  local begun log=$build/tail.log p=0 f=0 code calls jumps name=$1 dump=$2
  shift 2
  begun=$(date +%s)
  : >"$log"
  for level in -O2 -O3 -Os "-O2 -flto"; do
    if ! "$@" $level -std=c++11 $warnings -I"$include" "$here/tail.cpp" "$here/tail_logger.cpp" -o "$build/tail.out" >>"$log" 2>&1; then
      echo "$name $level: not built" >>"$log"
      f=$((f + 1))
      continue
    fi
    code=$($dump -d "$build/tail.out")
    calls=$(echo "$code" | grep -cE '\b(call[a-z]*|bl)[[:space:]].*(LogEnterLeave|LogEnterLeave@@)')
    jumps=$(echo "$code" | grep -E '\b(j[a-z]+|b|b\.[a-z]+)[[:space:]].*<_?_ZN13LogEnterLeave[CD][0-9]Ev[^+]*>')
    if [ "$calls" -ge 16 ] && [ -z "$jumps" ]; then
      p=$((p + 1))
    else
      echo "$name $level: $calls calls, jumps: $jumps" >>"$log"
      f=$((f + 1))
    fi
  done
  echo "$p passed, $f failed" >>"$log"
  result "tail-calls-$name" $(($(date +%s) - begun)) "$log"
}

# windows NAME COMPILER...
windows() {
  local d=$build/$1 name=$1 begun
  shift
  begun=$(date +%s)
  mkdir "$d"
  if "$@" -std=c++11 -O2 $warnings -I"$include" -static -shared "$here/module.cpp" -o "$d/module.dll" &&
    "$@" -std=c++11 -O2 $warnings -I"$include" -static -shared -DNAME=pluginLeaf "$here/module.cpp" -o "$d/plugin.dll" &&
    "$@" -std=c++11 -O2 $warnings -I"$include" -static "$here/windows_test.cpp" "$d/module.dll" -o "$d/windows_test.exe"; then
    (cd "$d" && "$here/../../scripts/wine/run.sh" windows_test.exe)
  fi >"$d/log" 2>"$d/errors"
  cat "$d/errors" >>"$d/log"
  result "$name" $(($(date +%s) - begun)) "$d/log"
}

if [ "$(uname -s)" = Linux ] && command -v g++ >/dev/null; then
  linux gcc g++ -O2
  # An old kernel's way of noticing a fork takes vfork for one.
  linux gcc-check-pid g++ "-O2 -DLOGPARSER_TEST_CHECK_PID" quick -vfork
  linux gcc-asan-ubsan g++ "-O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" quick
  # This sanitizer makes vfork a fork, and delays signals.
  linux gcc-tsan g++ "-O1 -fsanitize=thread" quick -vfork -signals
  if echo 'int main() {}' | g++ -m32 -x c++ - -o /dev/null 2>/dev/null; then
    # Its loader does read notes.
    linux gcc-m32 "g++ -m32" -O2 quick -notes
    tail_calls gcc-m32 objdump g++ -m32
  else
    skip gcc-m32 "g++-multilib is missing"
  fi
  tail_calls gcc objdump g++
  tail_calls gcc-pic objdump g++ -fPIE -pie
else
  skip gcc "g++ is missing"
fi
if [ -n "$clang" ] && [ -n "$lld" ]; then
  [ "$(uname -s)" = Linux ] && linux clang "$clang" "-O2 -fuse-ld=lld --ld-path=$lld" quick
  tail_calls clang objdump "$clang" -fuse-ld=lld --ld-path="$lld"
  if echo '#include <stdlib.h>' | "$clang" --target=aarch64-linux-gnu -fsyntax-only -x c++ - 2>/dev/null; then
    tail_calls clang-arm64 "$(newest llvm-objdump)" "$clang" --target=aarch64-linux-gnu -fuse-ld=lld --ld-path="$lld"
  else
    skip tail-calls-clang-arm64 "libstdc++-12-dev-arm64-cross is missing"
  fi
else
  skip clang "clang or lld is missing"
fi
for cpu in x86_64 i686; do
  for model in win32 posix; do
    cxx=$cpu-w64-mingw32-g++-$model
    if ! command -v $cxx >/dev/null; then
      skip mingw-$cpu-$model "$cxx is missing"
      continue
    fi
    [ $model = win32 ] && tail_calls mingw-$cpu $cpu-w64-mingw32-objdump $cxx -static
    if [ $cpu != x86_64 ]; then
      continue
    elif ! command -v wine >/dev/null; then
      skip mingw-$cpu-$model "wine is missing"
    else
      if [ -z "${wine_started-}" ]; then
        # The services keep the standard error of whoever starts them.
        export WINEPREFIX=${WINEPREFIX:-$build/wineprefix}
        [ -d "$WINEPREFIX" ] || { wineboot -i >/dev/null 2>&1; wineserver -w; }
        wineserver -p
        wineboot >/dev/null 2>&1
        wine_started=1
      fi
      windows mingw-$cpu-$model $cxx
    fi
  done
done
[ -n "${wine_started-}" ] && wineserver -k
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
