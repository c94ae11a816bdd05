#!/bin/bash
# trace_windows.sh [OUT [KILLS]]: builds the trace recorder for Windows and its
# tests with what is at hand, and runs them under wine: trace_windows_test,
# trace_windows_penter, and LogTest by each way in. LogTest's traces are left in
# OUT, a folder a lane, for TestTraceLogTest of cmd/logparse. KILLS says how
# often a program is ended by force (10). x86 is compiled, and run where
# WINE32_ROOT is a root folder with a 32-bit wine (testdata/logtest/wine32.sh).
#
# The last line is "N passed, N failed, N skipped"; exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../src include=$here/../include samples=$here/../samples/logtest
run_wine=$here/../../scripts/wine/run.sh
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
out=${1:-$build/out} kills=${2:-10}
rm -rf "$out"
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
passed=0 failed=0 skipped=0
warnings="-Wall -Wextra -Werror"
# Names that no code page has are among the tests.
export WINEDEBUG=-all LC_ALL=C.UTF-8
for v in LOGREC LOGREC_FILE LOGREC_MIN LOGREC_INCLUDE LOGREC_EXCLUDE LOGREC_SITES LOGTEST_TRUTH DISPLAY; do unset $v; done

x64=x86_64-w64-mingw32 x86=i686-w64-mingw32

. "$here/newest.sh"
clang=$(newest clang) || clang=
version=$("${clang:-false}" -dumpversion 2>/dev/null | cut -d. -f1)
# The program of the same version.
of_clang() { command -v "$1-$version" || command -v "$1"; }

skip() { echo "$1: skipped: $2"; skipped=$((skipped + 1)); }

# count NAME: by the "N passed, N failed" lines of its log.
count() {
  local lines p f
  lines=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$build/$1.log" | tr -d '\r')
  p=$(awk '{ n += $1 } END { print n + 0 }' <<<"$lines")
  f=$(awk '{ n += $3 } END { print n + 0 }' <<<"$lines")
  [ -n "$lines" ] && [ "$2" -eq 0 ] || f=$((f + 1))
  passed=$((passed + p)) failed=$((failed + f))
  echo "$1: $p passed, $f failed"
  [ "$f" -eq 0 ] || cat "$build/$1.log"
}

# one NAME COMMAND...: a step that passes or fails.
one() {
  local name=$1
  shift
  if "$@" >"$build/$name.log" 2>&1; then
    passed=$((passed + 1))
    echo "$name: 1 passed, 0 failed"
  else
    failed=$((failed + 1))
    echo "$name: 0 passed, 1 failed"
    cat "$build/$name.log"
  fi
}

# recorder DIR CC CXX LINK: objects in DIR/fixed, logrec.dll in DIR.
recorder() {
  local d=$1
  mkdir -p "$d/fixed" "$d/dll"
  (cd "$d/fixed" && $2 -O2 -std=c99 $warnings -I"$include" -c "$src"/*.c "$src"/*.S) &&
    (cd "$d/dll" && $2 -O2 -std=c99 $warnings -DLOGREC_BUILD_SHARED -I"$include" -c "$src"/*.c "$src"/*.S) &&
    $3 $4 -shared -static "$d"/dll/*.o -o "$d/logrec.dll" -Wl,--out-implib,"$d/liblogrec.a"
}

# programs DIR CXX LINK: the tests' programs, linked with the recorder in DIR,
# and in DIR/shared with logrec.dll.
programs() {
  local d=$1 n
  local c="$2 -O1 -std=c++11 $warnings -I$include -static" hooks=-finstrument-functions
  local at="-Wl,--image-base=0x6a000000 -Wl,--build-id"
  [ -n "$3" ] && at="-Wl,--image-base=0x6a000000 -g -gcodeview"
  mkdir -p "$d/shared"
  $c $3 $hooks "$here/trace_windows_subject.cpp" "$d"/fixed/*.o -o "$d/fixed.exe" &&
    $c $3 $hooks -DLOGREC_SHARED "$here/trace_windows_subject.cpp" "$d/liblogrec.a" -o "$d/shared/shared.exe" || return 1
  for n in one two; do
    $c $3 $hooks -shared -DPLUGIN=$n "$here/trace_windows_plugin.cpp" "$d"/fixed/*.o -o "$d/$n.dll" $at ${3:+-Wl,--pdb=$d/$n.pdb} &&
      $c $3 $hooks -shared -DPLUGIN=$n -DLOGREC_SHARED "$here/trace_windows_plugin.cpp" "$d/liblogrec.a" -o "$d/shared/$n.dll" $at ${3:+-Wl,--pdb=$d/shared/$n.pdb} || return 1
  done
  cp "$d/logrec.dll" "$d/shared" && $x64-strip -o "$d/shared/bare.dll" "$d/shared/one.dll"
}

# crashes DIR CXX BITS: how programs die.
crashes() {
  local c="$2 -O1 -std=c++11 $warnings -I$include -static" l="$1/ucrtbase.a $1/vcruntime140.a" tool=${2/g++/dlltool} name=__cxa_pure_virtual
  [ $3 = 64 ] || name=_$name
  l="$l -Wl,-u,$name"
  # What programs of Microsoft's compilers have: two runtimes besides.
  printf 'LIBRARY ucrtbase.dll\nEXPORTS\n_o_abort\n_o_terminate\n_invalid_parameter_noinfo\n' >"$1/ucrtbase.def"
  printf 'LIBRARY vcruntime140.dll\nEXPORTS\nruntime_purecall == _purecall\n' >"$1/vcruntime140.def"
  g++ -std=c++11 -O1 $warnings -DTRACE_OF_WINDOWS=$(($3 / 8)) "$here/trace_dump.cpp" -o "$build/trace_dump$3" &&
    $tool -d "$1/ucrtbase.def" -l "$1/ucrtbase.a" && $tool -d "$1/vcruntime140.def" -l "$1/vcruntime140.a" &&
    $c "$here/crash_windows_subject.cpp" $l -o "$1/plain.exe" &&
    $c -finstrument-functions "$here/crash_windows_subject.cpp" "$1"/fixed/*.o $l -o "$1/crash.exe" || return 1
  WINE32_ROOT=$([ $3 = 64 ] || echo "$WINE32_ROOT") "$here/crash_windows.sh" "$1/plain.exe" "$1/crash.exe" "$build/trace_dump$3"
}

# unloaded DIR CC: how a program dies that had the recorder in a DLL, of the runtime that programs of Microsoft's compilers have.
unloaded() (
  d=$1/unloaded source=$here/crash_windows_unload.c
  mkdir -p "$d" &&
    (cd "$d" && $2 -O2 -std=c99 $warnings -D_UCRT -I"$include" -c "$src"/*.c "$src"/*.S) &&
    $2 -O1 $warnings -D_UCRT -DMODULE -finstrument-functions -shared "$source" "$d"/*.o -o "$d/module.dll" -nodefaultlibs \
      -Wl,--start-group -lmingw32 -lgcc -lmingwex -lucrt -lkernel32 -Wl,--end-group &&
    $2 -O1 $warnings "$source" "$1/ucrtbase.a" -o "$d/program.exe" && cd "$d" || exit 1
  LOGREC_CRASH=first timeout 60 "$run_wine" program.exe
  a=$?
  LOGREC_CRASH=first timeout 60 "$run_wine" program.exe module.dll
  b=$?
  echo "status $b, without the recorder $a; recorded: $(ls ./*.lptrace)"
  [ $a = $b ] && [ -s "$(ls ./*.lptrace)" ]
)

# penter DIR CC CXX: the subject of /Gh and /GH, linked with both.
penter() {
  local d=$1 c="$3 -O1 -std=c++11 $warnings -I$include -static"
  $2 -c "$here/penter_windows.S" -o "$d/functions.o" &&
    $c "$here/trace_windows_penter.cpp" "$d/functions.o" "$d"/fixed/*.o -o "$d/penter.exe" &&
    $c -DLOGREC_SHARED "$here/trace_windows_penter.cpp" "$d/functions.o" "$d/liblogrec.a" -o "$d/shared/penter_shared.exe"
}

# penter_ml DIR CC CXX: with the hooks as ml64 makes them.
penter_ml() {
  $(of_clang llvm-ml) -m64 /c /Fo "$1/penter.obj" "$src/hooks_penter_x64.asm" &&
    $3 -O1 -std=c++11 $warnings -I"$include" -static "$here/trace_windows_penter.cpp" "$1/functions.o" "$1/penter.obj" \
      $(ls "$1"/fixed/*.o | grep -v /hooks_penter_gnu.o) -o "$1/penter_ml.exe"
}

driver() { $1 -O2 -std=c++11 $warnings -Wno-format -static "$here/trace_windows_test.cpp" -o "$2/test.exe" && cp "$2/test.exe" "$2/shared"; }

# The 64-bit wine. Its services keep the standard error of whoever starts them.
start_wine() {
  [ -n "${wine_started-}" ] && return
  export WINEPREFIX=${WINEPREFIX:-$build/wineprefix}
  [ -d "$WINEPREFIX" ] || { wineboot -i >/dev/null 2>&1; wineserver -w; }
  wineserver -p
  wineboot >/dev/null 2>&1
  wine_started=1
}
run_tests() (
  cd "$1" || exit 1
  shift
  status=0
  for arguments; do timeout 120 "$run_wine" test.exe $arguments 2>&1 || status=1; done
  exit $status
)
# In the 32-bit root folder, with /proc and /dev mounted for as long as it takes.
run_tests32() {
  local d=$WINE32_ROOT/wineprefix/drive_c/logrec arguments script="cd /wineprefix/drive_c/logrec/$2 || exit 1; s=0;"
  rm -rf "$d" && mkdir -p "$d" && cp -r "$1"/*.exe "$1"/*.dll "$1/shared" "$d" || return 1
  shift 2
  for arguments; do script="$script timeout 120 wine test.exe $arguments || s=1;"; done
  unshare -m sh -c 'mount --bind /proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" \
    env WINEPREFIX=/wineprefix WINEDEBUG=-all LC_ALL=C.UTF-8 sh -c "$2"' sh "$WINE32_ROOT" "$script wineserver -k; exit \$s"
}

# logtest LANE COMPILE LINK IMAGES: builds LogTest with commands that take
# sources and outputs, and runs it. IMAGES are copied beside the program.
logtest() {
  local lane=$1 compile=$2 link=$3 d=$out/$1 f o=
  shift 3
  mkdir -p "$d" && cp "$@" "$d" || return 1
  for f in shapes truth; do
    $compile $f $([ $f = truth ] && echo unseen || echo seen) -DLOGTEST_SHAPES "$build/$lane-$f.o" || return 1
    o="$o $build/$lane-$f.o"
  done
  $link dll "$d" $o || return 1
  o=
  for f in main work threads; do
    $compile $f $([ $f = threads ] && echo unseen || echo seen) "" "$build/$lane-$f.o" || return 1
    o="$o $build/$lane-$f.o"
  done
  $link exe "$d" $o || return 1
  (cd "$d" && LOGREC_FILE=LogDetails.lptrace timeout 60 "$run_wine" logtest.exe) && [ -s "$d/LogDetails.lptrace" ]
}

# command_of DIR: builds logparse for this system and, in DIR/windows beside logrec.dll, for Windows.
command_of() {
  mkdir -p "$1/windows" && cp "$gcc/logrec.dll" "$1/windows" &&
    (cd "$here/../.." && CGO_ENABLED=0 go build -o "$1/logparse" ./cmd/logparse && CGO_ENABLED=0 GOOS=windows go build -o "$1/windows/logparse.exe" ./cmd/logparse) || return 1
  # Go wants random numbers from it, and wine 8 has it not.
  local system=$WINEPREFIX/drive_c/windows/system32
  [ -e "$system/bcryptprimitives.dll" ] || $x64-gcc -shared -O2 -static-libgcc -o "$system/bcryptprimitives.dll" "$here/../../scripts/wine/prng.c" -ladvapi32
}

# reports DIR COMMAND: DIR/crash.exe has its report written by the command under wine, if it crashes; then nothing of the command
# is left.
reports() {
  local d=$build/reports command how n i status p=0 f=0
  command=Z:${2//\//\\}
  mkdir -p "$d" && cp "$1/crash.exe" "$d" || return 1
  for how in null:1 throw:1 ucrt-parameter:1 nothing:0 terminate:0; do
    rm -f "$d"/*.lptrace "$d"/*log2*
    (cd "$d" && LOGREC_REPORT=$command timeout 60 "$run_wine" crash.exe ${how%:*} >"$d/out" 2>&1)
    status=$?
    n=$(grep -al 'Call stack of thread' "$d"/crash.exelog[0-9]* 2>/dev/null | wc -l)
    for ((i = 0; i < 100; i++)); do
      grep -aqs "^${command//\\/.}.crash.--when-told" /proc/[0-9]*/cmdline || break
      sleep 0.1
    done
    if [ "$n" = "${how#*:}" ] && [ $i -lt 100 ] && { [ "$n" = 0 ] || grep -aqE '^\[[0-9]+\] crash.exe [0-9A-F]+ [0-9A-F]{8} leaf' "$d"/crash.exelog[0-9]*; }; then
      p=$((p + 1))
    else
      f=$((f + 1))
      echo "FAILED: $how: $n reports, status $status, $i"
      cat "$d/out" "$d"/crash.exelog* 2>/dev/null
    fi
  done
  echo "$p passed, $f failed"
  [ $f -eq 0 ]
}

# recorded LANE FROM COMMAND...: records the LogTest of another lane, without logrec.dll beside it, by
# the command logparse record.
recorded() {
  local d=$out/$1 from=$out/$2
  shift 2
  mkdir -p "$d" && cp "$from/logtest.exe" "$from/logtest_shapes.dll" "$d" || return 1
  (cd "$d" && XDG_CACHE_HOME=$build/cache timeout 200 "$@" record --quiet -o rec ./logtest.exe && mv rec/*.lptrace LogDetails.lptrace && rm -r rec) && [ -s "$d/LogDetails.lptrace" ]
}

lane_flags=
gcc_compile() { $x64-g++ $lane_flags $([ $2 = seen ] && echo $lane_hooks) -std=c++11 -g $warnings -I"$include" -DLOGPARSER_TRACE -DLOGREC_SHARED $3 -c "$samples/$1.cpp" -o "$4"; }
gcc_link() {
  local kind=$1 d=$2
  shift 2
  if [ $kind = dll ]; then
    $x64-g++ -static -Wl,--build-id -shared "$@" "$gcc/liblogrec.a" -o "$d/logtest_shapes.dll" -Wl,--out-implib="$d/shapes.a"
  else
    $x64-g++ -static -Wl,--build-id "$@" "$d/shapes.a" "$gcc/liblogrec.a" -o "$d/logtest.exe"
  fi
}
clang_flags() { echo "--target=$x64 $lane_flags -std=c++11 -g -gcodeview $warnings -I$include -DLOGPARSER_TRACE -DLOGREC_SHARED"; }
clang_compile() { $clangxx $(clang_flags) $([ $2 = seen ] && echo $lane_hooks) $3 -c "$samples/$1.cpp" -o "$4"; }
clang_link() {
  local kind=$1 d=$2 l="$clangxx --target=$x64 -fuse-ld=lld --ld-path=$lld -static -Wl,-s"
  shift 2
  if [ $kind = dll ]; then
    $l -shared "$@" "$gcc/liblogrec.a" -o "$d/logtest_shapes.dll" -Wl,--pdb="$d/logtest_shapes.pdb" -Wl,--out-implib="$d/shapes.a"
  else
    $l "$@" "$d/shapes.a" "$gcc/liblogrec.a" -o "$d/logtest.exe" -Wl,--pdb="$d/logtest.pdb"
  fi
}
# No compiler at hand knows /Gh. LLVM can call a function without arguments in
# the same places, by other names: behind the prologue and before each return.
penter_compile() {
  if [ $2 = unseen ]; then
    clang_compile "$@"
    return
  fi
  $clangxx $(clang_flags) $lane_hooks -finstrument-functions-after-inlining $3 -S -emit-llvm "$samples/$1.cpp" -o "$4.ll" &&
    sed -i 's/"__cyg_profile_func_enter"/"__cyg_profile_func_enter_bare"/g; s/"__cyg_profile_func_exit"/"_mcount"/g' "$4.ll" &&
    $(of_clang llc) $lane_flags --filetype=obj "$4.ll" -o "$4" &&
    $(of_clang llvm-objcopy) --redefine-sym __cyg_profile_func_enter_bare=_penter --redefine-sym _mcount=_pexit "$4"
}

# dialog LANE BUILD...: the LogTest with a dialog, built by a command that is given the source and its folder. Its buttons are
# clicked; the log has the handlers with their lines, and of a second run where it crashed.
dialog() {
  local lane=$1 d=$build/$1 source=$samples/../dialog/dialog.cpp log line handler calls
  shift
  mkdir -p "$d" && "$@" "$source" "$d" || return 1
  line_of() { grep -n "// $1\$" "$source" | cut -d: -f1; }
  for run in "1002 1 1002 2" "1002 1003"; do
    log=$d/log${run//[^0-9]/}.lptrace
    (cd "$d" && LOGREC_FILE=$log timeout 60 wine dialog.exe >"$d/out" 2>&1) &
    (cd "$build" && timeout 60 wine click.exe LogTest $run) || { echo "no click: $?"; kill $!; return 1; }
    wait $!
  done
  "$build/command/logparse" show "$d/log1002110022.lptrace" >"$d/clicked" 2>&1
  "$build/command/logparse" crash "$d/log10021003.lptrace" --crashed >"$d/crashed" 2>&1
  calls=$(sed -nE 's/.* -> ([A-Za-z:0-9]+).*/\1/p' "$d/clicked" | tr '\n' ' ')
  [ "$calls" = "main CLogTestDlg::DoModal CLogTestDlg::OnBnClickedButton2 CLogTestDlg::show CLogTestDlg::OnBnClickedOk CLogTestDlg::show \
CLogTestDlg::OnBnClickedButton2 CLogTestDlg::show CLogTestDlg::OnBnClickedCancel CLogTestDlg::show " ] || { echo "calls: $calls"; cat "$d/clicked"; return 1; }
  # The object stands in the line behind the function's head.
  for handler in OnBnClickedButton2 OnBnClickedOk OnBnClickedCancel; do
    line=$(($(grep -n "^void CLogTestDlg::$handler" "$source" | cut -d: -f1) + 1))
    grep -qE -- "-> CLogTestDlg::$handler.* dialog.cpp:$line " "$d/clicked" || { echo "$handler is not in line $line"; cat "$d/clicked"; return 1; }
  done
  grep -q '^cause .*abort' "$d/crashed" && grep -qE "CLogTestDlg::OnBnClickedCrash.*[ /]dialog.cpp:$(line_of crashes) " "$d/crashed" ||
    { echo "the crash is not in line $(line_of crashes)"; cat "$d/crashed"; return 1; }
}
dialog_gcc() {
  $x64-g++ -O1 -g -std=c++11 $warnings -I"$include" -DLOGPARSER_TRACE -DLOGTEST_QUIET -static -mwindows -Wl,--build-id "$1" "$gcc"/fixed/*.o -o "$2/dialog.exe"
}
dialog_clang() {
  $clangxx --target=$x64 -O1 -g -gcodeview -std=c++11 $warnings -I"$include" -DLOGPARSER_TRACE -DLOGTEST_QUIET -fuse-ld=lld --ld-path="$lld" -static -mwindows \
    -Wl,-s -Wl,--pdb="$2/dialog.pdb" "$1" "$build"/clang/fixed/*.o -o "$2/dialog.exe"
}
# dialog_classic: as "make logtest" builds it, with message boxes, into the files of the article. MinGW's default is no PDB.
dialog_classic() {
  local d=$build/dialog-classic calls
  "$samples/../../../scripts/logtest.sh" "$d" || return 1
  [ "$(cat "$d/linux/LogDetails.truth" 2>/dev/null | wc -l)" -gt 1000 ] || [ "$(uname -s)" != Linux ] || { echo "the console program was not run"; return 1; }
  (cd "$d/windows" && timeout 60 wine LogTestDlg.exe >out 2>&1) &
  (cd "$build" && timeout 60 wine click.exe LogTest 1002 box 1 box 2 box) || { echo "no click: $?"; kill $!; return 1; }
  wait $!
  "$build/command/logparse" show "$d/windows/LogDetails.dat" >"$d/shown" 2>&1
  calls=$(sed -nE 's/.* -> ([A-Za-z:0-9]+).*/\1/p' "$d/shown" | tr '\n' ' ')
  [ "$calls" = "main CLogTestDlg::DoModal CLogTestDlg::OnBnClickedButton2 CLogTestDlg::show CLogTestDlg::OnBnClickedOk CLogTestDlg::show \
CLogTestDlg::OnBnClickedCancel CLogTestDlg::show " ] || { echo "calls: $calls"; cat "$d/shown"; return 1; }
}
dialog_clangcl() {
  cp "$build/cl/logrec.dll" "$2" && clangcl /std:c++14 /c "/Fo$2/startup.obj" -- "$samples/startup_clangcl.cpp" &&
    clangcl /std:c++14 /DLOGPARSER_TRACE /DLOGTEST_QUIET /DLOGREC_SHARED /c "/Fo$2/dialog.obj" -- "$1" &&
    $(of_clang lld-link) /nologo /nodefaultlib /debug /opt:noicf /machine:x64 /subsystem:windows /entry:startup "$2/dialog.obj" "$2/startup.obj" \
      "$build/cl/logrec.lib" $clangcl_libs /usr/$x64/lib/libuser32.a /out:"$2/dialog.exe" /pdb:"$2/dialog.pdb"
}
# dialogs: all of them, on a display of their own. wine's services have had none.
dialogs() {
  local pid
  wineserver -k
  coproc XVFB { exec Xvfb -displayfd 1 -screen 0 800x600x24 -nolisten tcp 2>/dev/null; }
  pid=$XVFB_PID
  read -r -t 60 DISPLAY <&"${XVFB[0]}" || { skip dialogs "Xvfb does not start"; return; }
  export DISPLAY=:$DISPLAY
  wineserver -p
  one click $x64-g++ -O1 -std=c++11 $warnings -static "$samples/../dialog/click.cpp" -o "$build/click.exe"
  one dialog-mingw dialog dialog-mingw dialog_gcc
  one dialog-classic dialog_classic
  if [ -d "$build/clang/fixed" ]; then one dialog-clang dialog dialog-clang dialog_clang; else skip dialog-clang "clang is missing"; fi
  if [ -e "$build/cl/logrec.lib" ]; then one dialog-clangcl dialog dialog-clangcl dialog_clangcl; else skip dialog-clangcl "clang-cl is missing"; fi
  wineserver -k
  unset DISPLAY
  kill "$pid"
  wait "$pid" 2>/dev/null
}

clangcl() {
  local m=/usr/$x64 resources
  resources=$($clang -print-resource-dir)/include
  # A path that begins with a slash would be an option.
  $(of_clang clang-cl) --target=x86_64-pc-windows-msvc -nostdinc ${clangcl_first-} /clang:-isystem "/clang:$resources" /clang:-isystem \
    "/clang:$m/include" /clang:-fgnuc-version=12.2.0 /D__USE_MINGW_ANSI_STDIO=0 /Z7 /O2 /GS- /Gs100000 /GR- /EHs-c- \
    /Zc:threadSafeInit- /W4 -Werror /I"$include" "$@"
}
clangcl_libs="/usr/$x64/lib/libkernel32.a /usr/$x64/lib/libmsvcrt.a"
clangcl_link() {
  local kind=$1 d=$2 l
  l="$(of_clang lld-link) /nologo /nodefaultlib /debug /opt:noicf /machine:x64"
  shift 2
  if [ $kind = dll ]; then
    clangcl /std:c++14 /DLOGTEST_SHAPES /c "/Fo$d/startup.obj" -- "$samples/startup_clangcl.cpp" &&
      $l /dll /entry:DllMainCRTStartup "$@" "$d/startup.obj" "$build/cl/logrec.lib" $clangcl_libs /out:"$d/logtest_shapes.dll" \
        /pdb:"$d/logtest_shapes.pdb" /implib:"$d/shapes.lib"
  else
    clangcl /std:c++14 /c "/Fo$d/startup.obj" -- "$samples/startup_clangcl.cpp" &&
      $l /subsystem:console /entry:startup "$@" "$d/startup.obj" "$d/shapes.lib" "$build/cl/logrec.lib" $clangcl_libs \
        /out:"$d/logtest.exe" /pdb:"$d/logtest.pdb"
  fi
}
clangcl_compile() { clangcl /std:c++14 /DLOGPARSER_TRACE /DLOGREC_SHARED $3 /c "/Fo$4" -- "$samples/$1.cpp"; }
clangcl_recorder() {
  mkdir -p "$build/cl"
  clangcl /DLOGREC_BUILD_SHARED /DLOGREC_ASSEMBLED /c "/Fo$build/cl/" "/Fa$build/cl/" -- "$src"/*.c "$src/hooks_cyg_windows.S" "$src/hooks_fentry_windows.S" || return 1
  # The one thing that Microsoft's runtime would have had to give.
  echo 'int _fltused;' >"$build/cl/runtime.c" && clangcl /c "/Fo$build/cl/runtime.obj" -- "$build/cl/runtime.c" || return 1
  $(of_clang llvm-ml) -m64 /c /Fo "$build/cl/penter.obj" "$src/hooks_penter_x64.asm" &&
    $(of_clang lld-link) /nologo /nodefaultlib /debug /machine:x64 /dll /entry:DllMain "$build"/cl/*.obj $clangcl_libs \
      /out:"$build/cl/logrec.dll" /implib:"$build/cl/logrec.lib"
}
# x86 as MSVC would have it: compiled only.
clangcl32() {
  local m=/usr/i686-w64-mingw32
  mkdir -p "$build/cl32"
  $(of_clang clang-cl) --target=i686-pc-windows-msvc -nostdinc /clang:-isystem "/clang:$($clang -print-resource-dir)/include" \
    /clang:-isystem "/clang:$m/include" /clang:-fgnuc-version=12.2.0 /D__USE_MINGW_ANSI_STDIO=0 /D_X86_ /O2 /GS- \
    /Gs100000 /W4 -Werror /I"$include" /c "/Fo$build/cl32/" -- "$src"/*.c
}

# api LANE LINES BUILD...: values that the program tells itself, as the command shows them. BUILD is given the source and its folder.
api() {
  local d=$build/$1 lines=$2 shown
  shift 2
  mkdir -p "$d" && cp "$gcc/logrec.dll" "$d" && "$@" "$here/values_windows_api.cpp" "$d" || return 1
  (cd "$d" && LOGREC_FILE=api.lptrace timeout 60 "$run_wine" api.exe) || return 1
  "$build/command/logparse" show "$d/api.lptrace" --symbols "$d" >"$d/shown" 2>&1
  shown=$(sed -nE 's/.* -> (app::)?((sum|mixed|text)\(.*[^ ]) +[^ ]+\.cpp:.*/\2/p' "$d/shown" | sed 's/ \*/*/g; s/long long int/long long/') # as this or that compiler spells types
  [ "$shown" = "$lines" ] || { echo "shown: $shown"; echo "and not: $lines"; cat "$d/shown"; return 1; }
}
api_lines='sum(int a = 3, int b = -4) = -1
mixed(const char* text = "a text", double d = 5.0, int (int)color = 5, bool b = true, unsigned char c = 250, long long n = -5000000000, app::Point p = up, const char* nowhere = not readable, std::nullptr_t nullptr = null) = 2.5'
api_gcc() { $x64-g++ -O1 -g -std=c++11 $warnings -I"$include" -DLOGREC_SHARED -static "$1" "$gcc/liblogrec.a" -o "$2/api.exe" -Wl,--build-id; }
api_clangcl() {
  local headers
  # Its headers look for C's behind them, and want to be told of the dialect.
  headers=$(dirname "$($x64-g++ -print-libgcc-file-name)")/include/c++
  clangcl /std:c++14 /c "/Fo$2/startup.obj" -- "$samples/startup_clangcl.cpp" &&
    clangcl_first="/clang:-isystem /clang:$headers /clang:-isystem /clang:$headers/$x64 /D__STRICT_ANSI__" clangcl /std:c++14 /DLOGREC_SHARED /c "/Fo$2/api.obj" -- "$1" &&
    $(of_clang lld-link) /nologo /nodefaultlib /debug /opt:noicf /machine:x64 /subsystem:console /entry:startup "$2/api.obj" "$2/startup.obj" \
      "$build/cl/logrec.lib" $clangcl_libs /out:"$2/api.exe" /pdb:"$2/api.pdb"
}

gcc=$build/x64
if ! command -v $x64-g++ >/dev/null; then
  skip trace-windows "$x64-g++ is missing"
else
  one x64-recorder recorder "$gcc" $x64-gcc $x64-g++ ""
  one x64-programs programs "$gcc" $x64-g++ ""
  one x64-penter penter "$gcc" $x64-gcc $x64-g++
  ml=
  if [ -n "$clang" ] && of_clang llvm-ml >/dev/null; then
    one x64-llvm-ml penter_ml "$gcc" $x64-gcc $x64-g++
    ml=penter_ml
  else
    skip x64-llvm-ml "llvm-ml is missing"
  fi
  one x64-driver driver $x64-g++ "$gcc"
  if ! command -v wine >/dev/null; then
    skip x64-run "wine is missing"
  else
    start_wine
    run_tests "$gcc/shared" "shared shared $kills" penter_shared >"$build/x64-shared.log"
    count x64-shared $?
    run_tests "$gcc" "fixed $(((kills + 2) / 3))" penter $ml >"$build/x64-fixed.log"
    count x64-fixed $?
    crashes "$gcc" $x64-g++ 64 >"$build/x64-crashes.log" 2>&1
    count x64-crashes $?
    one x64-unloaded unloaded "$gcc" $x64-gcc
    for level in -O0 -O2; do
      lane_flags=$level lane_hooks="-finstrument-functions -DLOGTEST_HOOKS"
      one mingw-hooks$level logtest mingw-hooks$level gcc_compile gcc_link "$gcc/logrec.dll"
    done
    if command -v go >/dev/null; then
      one command command_of "$build/command"
      reports "$gcc" "$build/command/windows/logparse.exe" >"$build/x64-reports.log" 2>&1
      count x64-reports $?
      # Started here, where wine is found and a logrec.dll built; and under wine.
      one mingw-hooks-recorded-O2 recorded mingw-hooks-recorded-O2 mingw-hooks-O2 "$build/command/logparse"
      one api-mingw api api-mingw "$api_lines
text(std::__cxx11::basic_string<char> s = \"a string\") = \"a string!\"" api_gcc
      one mingw-hooks-recordedexe-O2 recorded mingw-hooks-recordedexe-O2 mingw-hooks-O2 "$run_wine" "$build/command/windows/logparse.exe"
    else
      skip record "go is missing"
    fi
    lane_flags=-O2 lane_hooks=
    one mingw-object-O2 logtest mingw-object-O2 gcc_compile gcc_link "$gcc/logrec.dll"
  fi
fi
clangxx=${clang/clang/clang++}
if [ -z "$clang" ] || ! command -v $x64-g++ >/dev/null || ! lld=$(of_clang ld.lld); then
  skip clang "clang, lld or MinGW is missing"
else
  c="$clang --target=$x64 -fms-extensions" l="-fuse-ld=lld --ld-path=$lld"
  one x64-clang-recorder recorder "$build/clang" "$c" "$clangxx --target=$x64" "$l"
  one x64-clang-programs programs "$build/clang" "$clangxx --target=$x64" "$l"
  if command -v wine >/dev/null; then
    cp "$gcc/test.exe" "$build/clang/shared" && cp "$gcc/test.exe" "$build/clang"
    run_tests "$build/clang/shared" "shared shared 0" >"$build/x64-clang.log"
    count x64-clang $?
    for level in -O0 -O2; do
      lane_flags=$level lane_hooks="-finstrument-functions -DLOGTEST_HOOKS"
      one clang-hooks$level logtest clang-hooks$level clang_compile clang_link "$gcc/logrec.dll"
    done
    lane_flags=-O2 lane_hooks=
    one clang-object-O2 logtest clang-object-O2 clang_compile clang_link "$gcc/logrec.dll"
    if of_clang llc >/dev/null && of_clang llvm-objcopy >/dev/null; then
      for level in -O0 -O2; do
        lane_flags=$level lane_hooks=-DLOGTEST_HOOKS
        one clang-penter$level logtest clang-penter$level penter_compile clang_link "$gcc/logrec.dll"
      done
    else
      skip clang-penter "llc or llvm-objcopy is missing"
    fi
    if of_clang clang-cl >/dev/null && of_clang llvm-ml >/dev/null; then
      one clangcl-recorder clangcl_recorder
      lane_hooks=
      if [ -e "$build/command/logparse" ]; then one api-clangcl api api-clangcl "$api_lines" api_clangcl; else skip api-clangcl "go is missing"; fi
      one clangcl-object-O2 logtest clangcl-object-O2 clangcl_compile clangcl_link "$build/cl/logrec.dll"
    else
      skip clangcl "clang-cl or llvm-ml is missing"
    fi
  else
    skip clang-run "wine is missing"
  fi
  if [ -d /usr/i686-w64-mingw32/include ] && of_clang clang-cl >/dev/null; then
    one clangcl-x86 clangcl32
  else
    skip clangcl-x86 "clang-cl or MinGW for x86 is missing"
  fi
fi
if ! command -v $x86-g++ >/dev/null; then
  skip x86 "$x86-g++ is missing"
else
  one x86-recorder recorder "$build/x86" $x86-gcc $x86-g++ ""
  one x86-programs programs "$build/x86" $x86-g++ ""
  one x86-penter penter "$build/x86" $x86-gcc $x86-g++
  if [ -z "${WINE32_ROOT-}" ]; then
    skip x86-run "WINE32_ROOT is not set"
  else
    one x86-driver driver $x86-g++ "$build/x86"
    run_tests32 "$build/x86" shared "shared shared 3" "penter_shared" >"$build/x86-shared.log" 2>&1
    count x86-shared $?
    run_tests32 "$build/x86" . "fixed 3" penter >"$build/x86-fixed.log" 2>&1
    count x86-fixed $?
    crashes "$build/x86" $x86-g++ 32 >"$build/x86-crashes.log" 2>&1
    count x86-crashes $?
  fi
fi
if [ -z "${wine_started-}" ] || [ ! -e "$build/command/logparse" ]; then
  skip dialogs "wine, MinGW or go is missing"
elif ! command -v Xvfb >/dev/null; then
  skip dialogs "Xvfb is missing"
else
  dialogs
fi
[ -n "${wine_started-}" ] && wineserver -k
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
