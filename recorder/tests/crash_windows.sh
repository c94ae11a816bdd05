#!/bin/bash
# crash_windows.sh PLAIN RECORDED READER: how a program dies under wine with the recorder and without.
# PLAIN and RECORDED are crash_windows_subject.exe, READER is trace_dump. The log must have the record of the
# crash where something of ours runs, and all calls. wine itself returns 0 now and then where a program
# died of an exception: then it is tried again. A program that does not end within a minute is a failure, whatever
# the next try does. The variable crash_rounds says how often the list is gone through (once). Prints how many programs were
# run and tried again, and "N passed, N failed".
set -u
plain=$1 recorded=$2 reader=$3
run_wine=$(cd "$(dirname "$0")/../../scripts/wine" && pwd)/run.sh
# With WINE32_ROOT, a root folder with a 32-bit wine, the programs are for x86.
if [ -n "${WINE32_ROOT-}" ]; then
  work=$(mktemp -d -p "$WINE32_ROOT/wineprefix/drive_c")
  cp "$plain" "$work/plain.exe" && cp "$recorded" "$work/crash.exe"
  plain=./plain.exe recorded=./crash.exe run_wine=wine32
else
  work=$(mktemp -d)
fi
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 runs=0 again=0 hung=0
ulimit -c 0
# On x86 the callers of terminate are not known.
pure=$([ "$run_wine" = wine32 ] && echo "4 0" || echo "5 0")

# wine32 PROGRAM ARGUMENT...: in the folder work, inside the root folder.
wine32() {
  unshare -m sh -c 'mount --bind /proc "$WINE32_ROOT/proc" && mount --bind /dev "$WINE32_ROOT/dev" && exec chroot "$WINE32_ROOT" \
    env WINEPREFIX=/wineprefix WINEDEBUG=-all sh -c "cd \"\$1\"; shift; exec timeout 60 wine \"\$@\"" sh "$@"' sh "${work#"$WINE32_ROOT"}" "$@"
}

# status PROGRAM CAUSE [thread]
status() {
  local s
  if [ "$run_wine" = wine32 ]; then
    wine32 "$@" >/dev/null 2>&1
  else
    (cd "$work" && timeout 60 "$run_wine" "$@" >/dev/null 2>&1)
  fi
  s=$?
  echo $s
}

# one CAUSE RECORD [thread]: RECORD is the exception's code or "abort" as the reader prints it, or none.
one() {
  local cause=$1 want=$2 a b what i
  shift 2
  for ((i = 0; i < 20; i++)); do
    rm -f "$work"/*.lptrace
    a=$(status "$plain" "$cause" "$@") b=$(status "$recorded" "$cause" "$@")
    runs=$((runs + 2))
    # timeout says 124.
    if [ "$b" = 124 ] && [ "$a" != 124 ]; then
      hung=$((hung + 1)) && echo "$cause $*: it hung"
      break
    fi
    [ "$a" = "$b" ] && break
    again=$((again + 1))
  done
  what=$("$reader" "$work"/*.lptrace -e 2>&1)
  local got calls
  got=$(grep -a '^crash ' <<<"$what" | cut -d' ' -f2,3)
  calls=$(grep -ac ' enter ' <<<"$what")
  if [ "$a" = "$b" ] && [ "$got" = "$want" ] && [ "$calls" -ge 1003 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $cause $*: status $b, without the recorder $a; record '$got', not '$want'; $calls calls"
  fi
}

for ((round = 0; round < ${crash_rounds:-1}; round++)); do
  for where in "" thread; do
    one null "2 c0000005" $where
    one store "2 c0000005" $where
    # No address of x86 is so far away.
    [ "$run_wine" = wine32 ] || one far "2 c0000005" $where
    one call "2 c0000005" $where
    one abort "3 0" $where
    one throw "4 0" $where
    one pure "$pure" $where
    one divide "2 c0000094" $where
    one raise "2 e0000001" $where
    one breakpoint "2 80000003" $where
    one illegal "2 c000001d" $where
    one terminate "" $where
    one noexcept "4 0" $where
    one std-terminate "4 0" $where
    one ucrt-abort "3 0" $where
    one ucrt-terminate "4 0" $where
    one ucrt-parameter "6 0" $where
    one runtime-pure "5 0" $where
  done
done
echo "$runs programs run, $again pairs tried again, $hung hung"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
