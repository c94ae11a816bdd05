#!/bin/bash
# run.sh [--neutral] OUT [LANE...]: runs what build.sh built below OUT (default:
# all lanes found there) and leaves LogDetails.dat, LogDetails.bin and
# LogDetails.truth in the lane's folder.
#
# Windows lanes run under wine, in C:\logtest of WINEPREFIX (default: a new one,
# OUT/wineprefix). x86 ones need a root folder with a 32-bit wine: WINE32_ROOT,
# made by testdata/logtest/wine32.sh; only root can use it. arm64 ones run by
# qemu-aarch64. With --neutral Linux lanes run in /opt/logtest of a mount
# namespace of their own, so that the logs hold no path of this machine.
#
# The last line is "N run, N skipped, N failed"; OUT/run.txt has a line a lane:
# name, run|skipped|failed, seconds, remark; separated by tabs.

set -u
neutral=
[ "${1-}" = --neutral ] && { neutral=1; shift; }
case "${1-}" in
  '' | -*) sed -n '2,/^$/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
out=$(cd "$1" && pwd) || exit 2
shift
lanes=${*:-$(cd "$out" && ls -d linux-* windows-* 2>/dev/null)}
files="LogDetails.dat LogDetails.bin LogDetails.truth"
prefix=${WINEPREFIX:-$out/wineprefix}
run_wine=$(cd "$(dirname "$0")/../../.." && pwd)/scripts/wine/run.sh
wine_started=
# Only what a run needs from outside: no display, no user's settings.
export WINEDEBUG=-all LC_ALL=C
unset LOGPARSER_LOG LOGTEST_TRUTH DISPLAY

# wine's services inherit the standard error of the first program. Were it a
# pipe, its reader would wait for them: so they are started first, and stay.
start_wine() {
  [ -n "$wine_started" ] && return
  export WINEPREFIX=$prefix
  [ -d "$prefix" ] || { wineboot -i >/dev/null 2>&1; wineserver -w; }
  wineserver -p
  wineboot >/dev/null 2>&1
  wine_started=1
}

# in_wine32 COMMAND: runs it in the 32-bit root folder, with /proc and /dev
# mounted for as long as it takes.
in_wine32() {
  unshare -m sh -c 'mount --bind /proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$1" \
    env WINEPREFIX=/wineprefix sh -c "$2"' sh "$WINE32_ROOT" "$1"
}

run_windows() {
  local lane=$1 c
  if [ "${lane#windows-x86-}" != "$lane" ]; then
    [ -n "${WINE32_ROOT-}" ] || { remark="WINE32_ROOT is not set"; return 3; }
    c=$WINE32_ROOT/wineprefix/drive_c/logtest
    rm -rf "$c" && mkdir -p "$c" && cp "$lane"/*.exe "$lane"/*.dll "$c" || return 1
    in_wine32 "cd /wineprefix/drive_c/logtest && wine 'C:\\logtest\\logtest.exe'" \
      >"$lane/stdout.txt" 2>"$lane/stderr.txt" || return 1
  else
    command -v wine >/dev/null || { remark="wine is missing"; return 3; }
    start_wine
    c=$prefix/drive_c/logtest
    rm -rf "$c" && mkdir -p "$c" && cp "$lane"/*.exe "$lane"/*.dll "$c" || return 1
    (cd "$c" && WINEPREFIX=$prefix "$run_wine" 'C:\logtest\logtest.exe') >"$lane/stdout.txt" 2>"$lane/stderr.txt" || return 1
  fi
  cp $(printf "$c/%s " $files) "$lane"
}

run_linux() {
  local lane=$1 emulator=""
  case "$lane" in *-arm64-*)
    emulator="qemu-aarch64 -L /usr/aarch64-linux-gnu"
    command -v qemu-aarch64 >/dev/null || { remark="qemu-aarch64 is missing"; return 3; } ;;
  esac
  if [ -n "$neutral" ]; then
    unshare $([ "$(id -u)" = 0 ] || echo -r) -m sh -c "mount -t tmpfs none /opt && mkdir /opt/logtest &&
      mount --bind '$out/$lane' /opt/logtest && cd /opt/logtest && exec $emulator /opt/logtest/logtest" \
      >"$lane/stdout.txt" 2>"$lane/stderr.txt"
  else
    (cd "$lane" && $emulator ./logtest) >"$lane/stdout.txt" 2>"$lane/stderr.txt"
  fi
}

cd "$out" || exit 1
ran=0 skipped=0 failed=0
: >run.txt
for lane in $lanes; do
  remark=
  for f in $files; do rm -f "$lane/$f"; done
  begun=$(date +%s%3N)
  case "$lane" in
    windows-*) [ -f "$lane/logtest.exe" ] && run_windows "$lane" ;;
    *) [ -f "$lane/logtest" ] && run_linux "$lane" ;;
  esac
  status=$?
  [ $status = 0 ] && for f in $files; do [ -s "$lane/$f" ] || { status=1 remark="no $f"; }; done
  seconds=$(awk "BEGIN { printf \"%.1f\", ($(date +%s%3N) - $begun) / 1000 }")
  case $status in
    0) word=run; ran=$((ran + 1)) ;;
    3) word=skipped; skipped=$((skipped + 1)) ;;
    *) word=failed; failed=$((failed + 1)); cat "$lane/stderr.txt" >&2 2>/dev/null ;;
  esac
  printf '%s\t%s\t%s\t%s\n' "$lane" $word "$seconds" "$remark" | tee -a run.txt
done
[ -n "$wine_started" ] && wineserver -k
grep -q '^windows-x86-.*	\(run\|failed\)	' run.txt && in_wine32 'wineserver -k'
echo "$ran run, $skipped skipped, $failed failed"
[ $failed -eq 0 ]
