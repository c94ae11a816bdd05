#!/bin/bash
# build.sh [OUT [LANE...]]: builds LogTest with every toolchain at hand, each
# lane into a folder of its own below OUT (default: a new temporary folder).
# A lane whose toolchain is missing is named and counted as skipped.
#
# The last line is "N built, N skipped, N failed"; OUT/summary.txt has a line a
# lane: name, built|skipped|failed, seconds, remark; separated by tabs.
# Exit: 0 nothing failed, 1 a lane failed, 2 usage.
#
# CLANG and MINGW_MODEL choose versions (clang++-19; win32 or posix).

set -u
here=$(cd "$(dirname "$0")" && pwd)
recorder=$(cd "$here/../.." && pwd)

all_lanes="
linux-gcc-O0 linux-gcc-O2 linux-gcc-O2-nopie linux-gcc-O2-lto
linux-clang-O0 linux-clang-O2 linux-clang-O2-nopie linux-clang-O2-lto
linux-x86-gcc-O2 linux-arm64-clang-O2
windows-x64-clang windows-x64-clang-O0 windows-x86-clang
windows-x64-clangcl windows-x86-clangcl
windows-x64-mingw windows-x86-mingw
check-windows-x64-mingw-win32 check-windows-x64-mingw-posix
check-windows-x86-mingw-win32 check-windows-x86-mingw-posix
check-windows-x64-clangcl check-windows-x86-clangcl check-windows-arm64-clangcl
"

case "${1-}" in
  -h | --help) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; echo "lanes:" $all_lanes; exit 0 ;;
  -*) echo "build.sh: unknown option $1" >&2; exit 2 ;;
esac
out=${1:-$(mktemp -d)}
[ $# -gt 0 ] && shift
lanes=${*:-$all_lanes}
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2

. "$here/../../tests/newest.sh"
clang=${CLANG:-$(newest clang++)} || clang=
clang_version=$("${clang:-false}" -dumpversion 2>/dev/null | cut -d. -f1)
# The linker and clang-cl of the same version.
of_clang() {
  [ -n "$clang" ] || return 1
  command -v "$1-$clang_version" || command -v "$1"
}
mingw_model=${MINGW_MODEL:-win32}

warnings="-Wall -Wextra -Werror"
program="main work threads"
library="shapes truth"

# need COMMAND...: fails, with a remark for the summary, where one is missing.
need() {
  local c
  for c; do
    if [ -z "$c" ] || ! command -v "$c" >/dev/null; then
      remark="${c:-clang} is missing"
      return 3
    fi
  done
}

# Paths of this machine are replaced, so that two machines build the same bytes.
neutral() { echo "-ffile-prefix-map=$recorder=/logtest/recorder -ffile-prefix-map=$PWD=/logtest/build"; }
# CodeView names the object file too, and no prefix map applies to it.
object_name() { echo "-Xclang -object-file-name=/logtest/build/$1"; }

run() { echo "+ $*" >>build.log; "$@" >>build.log 2>&1; }

# linux COMPILER FLAGS LINK: in the lane's folder.
linux() {
  local f o="" flags="$2 $warnings -std=c++11 -g -pthread -I$recorder/include $(neutral)"
  for f in $library; do
    run "$1" $flags -fPIC -DLOGTEST_SHAPES -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$1" $flags -fPIC $3 -shared $o -Wl,--build-id -Wl,-soname,liblogtest_shapes.so -o liblogtest_shapes.so || return 1
  o=""
  for f in $program; do
    run "$1" $flags $4 -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$1" $flags $4 $3 $5 $o -L. -llogtest_shapes -Wl,--build-id -Wl,-rpath,'$ORIGIN' -o logtest
}

# windows_clang CPU LEVEL: clang in MinGW mode with lld, PDB.
windows_clang() {
  local lld f o="" cpu=$1
  need "$clang" "$cpu-w64-mingw32-g++" || return 3
  lld=$(of_clang ld.lld) || { remark="lld-$clang_version is missing"; return 3; }
  local flags="--target=$cpu-w64-mingw32 $2 $warnings -std=c++11 -g -gcodeview -gno-codeview-command-line -I$recorder/include $(neutral) -ffile-compilation-dir=/logtest/build"
  local link="--target=$cpu-w64-mingw32 -fuse-ld=lld --ld-path=$lld -static -Wl,-s -Wl,-Xlink=/pdbaltpath:%_PDB% -Wl,-Xlink=/pdbsourcepath:/logtest/build"
  # Addresses as high as Windows gives them; and the library wants the place
  # of the program, so that it is loaded elsewhere than it was linked for.
  local base=0x7ff6a0000000
  [ $cpu = i686 ] && base=0x400000
  link="$link -Wl,--image-base=$base"
  for f in $library; do
    run "$clang" $flags $(object_name $f.o) -DLOGTEST_SHAPES -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$clang" $link -shared $o -o logtest_shapes.dll -Wl,--pdb=logtest_shapes.pdb -Wl,--out-implib=liblogtest_shapes.a || return 1
  o=""
  for f in $program; do
    run "$clang" $flags $(object_name $f.o) -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$clang" $link $o liblogtest_shapes.a -o logtest.exe -Wl,--pdb=logtest.pdb
}

# clangcl_flags CPU: Microsoft's ABI with MinGW's headers; no C++ library, no
# exceptions.
clangcl_flags() {
  local m=/usr/$1-w64-mingw32
  [ "$1" = aarch64 ] && m=/usr/x86_64-w64-mingw32
  local resources
  resources=$("$clang" -print-resource-dir)/include
  echo "--target=$1-pc-windows-msvc -nostdinc /clang:-isystem /clang:$resources /clang:-isystem /clang:$m/include" \
    "/clang:-fgnuc-version=12.2.0 /D__USE_MINGW_ANSI_STDIO=0 $([ "$1" = i686 ] && echo /D_X86_) /Z7 /O2 /GS- /Gs100000" \
    "/GR- /EHs-c- /Zc:threadSafeInit- /std:c++14 /W4 -Werror /I$recorder/include"
}

windows_clangcl() {
  local cpu=$1 cl link m=/usr/$1-w64-mingw32 machine=x64 suffix="" f o=""
  cl=$(of_clang clang-cl) || { remark="clang-cl-$clang_version is missing"; return 3; }
  link=$(of_clang lld-link) || { remark="lld-link-$clang_version is missing"; return 3; }
  need "$cpu-w64-mingw32-g++" || return 3
  local flags
  flags="$(clangcl_flags $cpu) $(neutral | sed 's/-ffile/\/clang:-ffile/g') /clang:-gno-codeview-command-line /clang:-ffile-compilation-dir=/logtest/build"
  local options="/nologo /nodefaultlib /debug /opt:noicf /pdbaltpath:%_PDB% /pdbsourcepath:/logtest/build"
  if [ $cpu = i686 ]; then
    machine="x86 /safeseh:no"
    suffix=@12
  fi
  local libs="$m/lib/libkernel32.a $m/lib/libmsvcrt.a"
  for f in $library startup_clangcl; do
    run "$cl" $flags $(object_name $f.obj) /DLOGTEST_SHAPES /c /Fo$f.obj -- "$here/$f.cpp" || return 1
    o="$o $f.obj"
  done
  run "$link" /machine:$machine $options /dll /entry:DllMainCRTStartup$suffix $o $libs /out:logtest_shapes.dll \
    /pdb:logtest_shapes.pdb /implib:logtest_shapes.lib || return 1
  o=""
  for f in $program startup_clangcl; do
    run "$cl" $flags $(object_name $f.obj) /c /Fo$f.obj -- "$here/$f.cpp" || return 1
    o="$o $f.obj"
  done
  run "$link" /machine:$machine $options /subsystem:console /entry:startup $o logtest_shapes.lib $libs \
    /out:logtest.exe /pdb:logtest.pdb
}

# windows_mingw CPU: MinGW gcc, DWARF inside the image.
windows_mingw() {
  local cxx=$1-w64-mingw32-g++-$mingw_model f o=""
  need "$cxx" || return 3
  local flags="-O2 $warnings -std=c++11 -g -I$recorder/include $(neutral)"
  local link="-static -Wl,--build-id"
  for f in $library; do
    run "$cxx" $flags -DLOGTEST_SHAPES -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$cxx" $link -shared $o -o logtest_shapes.dll -Wl,--out-implib=liblogtest_shapes.a || return 1
  o=""
  for f in $program; do
    run "$cxx" $flags -c "$here/$f.cpp" -o $f.o || return 1
    o="$o $f.o"
  done
  run "$cxx" $link $o liblogtest_shapes.a -o logtest.exe
}

# check COMMAND FLAGS...: compiles everything, links nothing.
check() {
  local f d last=""
  # A path that begins with a slash would be an option to clang-cl.
  case "$1" in *clang-cl*) last=-- ;; esac
  for f in $library $program; do
    d=
    case " $library " in *" $f "*) d=-DLOGTEST_SHAPES ;; esac
    run "$@" $d -c $last "$here/$f.cpp" || return 1
  done
}

# build_lane NAME: 0 built, 3 skipped (remark says why), else failed.
build_lane() {
  local cl
  case "$1" in
    linux-*)
      [ "$(uname -s)" = Linux ] || { remark="this is not Linux"; return 3; }
      local cxx=g++ pic=-fPIE pie=-pie target="" linker="" level=-O2
      case "$1" in *-clang-*)
        cxx=$clang
        linker="-fuse-ld=lld --ld-path=$(of_clang ld.lld)" || { remark="lld-$clang_version is missing"; return 3; } ;;
      esac
      need "$cxx" || return 3
      case "$1" in
        *-O0) level=-O0 ;;
        *-nopie) pic=-fno-pie pie=-no-pie ;;
        *-lto) level="-O2 -flto" ;;
      esac
      case "$1" in
        *-x86-*) target=-m32 ;;
        *-arm64-*) target=--target=aarch64-linux-gnu ;;
      esac
      if [ -n "$target" ] && ! echo 'int main() {}' | $cxx $target $linker -x c++ - -o /dev/null 2>/dev/null; then
        remark="no libraries for $target (g++-multilib; libstdc++-12-dev-arm64-cross)"
        return 3
      fi
      linux $cxx "$target $level" "$linker" $pic $pie ;;
    windows-x64-clang) windows_clang x86_64 -O2 ;;
    windows-x64-clang-O0) windows_clang x86_64 -O0 ;;
    windows-x86-clang) windows_clang i686 -O2 ;;
    windows-x64-clangcl) windows_clangcl x86_64 ;;
    windows-x86-clangcl) windows_clangcl i686 ;;
    windows-x64-mingw) windows_mingw x86_64 ;;
    windows-x86-mingw) windows_mingw i686 ;;
    check-windows-*-mingw-*)
      local cpu=x86_64
      case "$1" in *-x86-*) cpu=i686 ;; esac
      need $cpu-w64-mingw32-g++-${1##*-} || return 3
      check $cpu-w64-mingw32-g++-${1##*-} -O2 -std=c++11 $warnings -I"$recorder/include" ;;
    check-windows-*-clangcl)
      local cpu=x86_64
      case "$1" in *-x86-*) cpu=i686 ;; *-arm64-*) cpu=aarch64 ;; esac
      cl=$(of_clang clang-cl) || { remark="clang-cl-$clang_version is missing"; return 3; }
      need x86_64-w64-mingw32-g++ || return 3
      check "$cl" $(clangcl_flags $cpu) ;;
    *) remark="there is no such lane"; return 1 ;;
  esac
}

built=0 skipped=0 failed=0
: >"$out/summary.txt"
for lane in $lanes; do
  remark=
  rm -rf "${out:?}/$lane" && mkdir -p "$out/$lane" && cd "$out/$lane" || exit 1
  begun=$(date +%s%3N)
  build_lane "$lane"
  status=$?
  seconds=$(awk "BEGIN { printf \"%.1f\", ($(date +%s%3N) - $begun) / 1000 }")
  case $status in
    0) word=built; built=$((built + 1)) ;;
    3) word=skipped; skipped=$((skipped + 1)) ;;
    *) word=failed; failed=$((failed + 1))
       [ -f build.log ] && tail -n 30 build.log >&2 ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$lane" $word "$seconds" "$remark" | tee -a "$out/summary.txt"
done
echo "in $out"
echo "$built built, $skipped skipped, $failed failed"
[ $failed -eq 0 ]
