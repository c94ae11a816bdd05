#!/bin/bash
# crash_windows.sh PLAIN RECORDED READER: how a program dies under wine with the recorder and without.
# PLAIN and RECORDED are crash_windows_subject.exe, READER is trace_dump. The log must have the record of the
# crash where something of ours runs, and all calls. wine itself returns 0 now and then where a program
# died of an exception: then it is tried again. Prints "N passed, N failed".
set -u
plain=$1 recorded=$2 reader=$3
run_wine=$(cd "$(dirname "$0")/../../scripts/wine" && pwd)/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
ulimit -c 0

# status PROGRAM CAUSE [thread]
status() {
  local s
  (cd "$work" && timeout 60 "$run_wine" "$@" >/dev/null 2>&1)
  s=$?
  echo $s
}

# one CAUSE RECORD [thread]: RECORD is the exception's code or "abort" as the reader prints it, or none.
one() {
  local cause=$1 want=$2 a b what i
  shift 2
  for i in 1 2 3 4 5; do
    rm -f "$work"/*.lptrace
    a=$(status "$plain" "$cause" "$@") b=$(status "$recorded" "$cause" "$@")
    [ "$a" = "$b" ] && break
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

for where in "" thread; do
  one null "2 c0000005" $where
  one store "2 c0000005" $where
  one far "2 c0000005" $where
  one call "2 c0000005" $where
  one abort "3 0" $where
  one throw "3 0" $where
  one pure "2 c0000005" $where
  one divide "2 c0000094" $where
  one raise "2 e0000001" $where
  one breakpoint "2 80000003" $where
  one illegal "2 c000001d" $where
  one terminate "" $where
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
