#!/bin/bash
# surroundings.sh: what surrounds a program is as it is without the recorder: its limits,
# descriptors, disks, children. Each case runs surroundings.c plain and recorded, linked with the recorder and
# with it preloaded, by gcc and by clang; it must print and return the same, and the log must have all calls, or
# say what is missing.
#
# The last line is "N passed, N failed, N skipped". Exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(mktemp -d)
disk=
trap '[ -z "$disk" ] || umount "$disk"; rm -rf "$build"' EXIT
passed=0 failed=0 skipped=0
export LC_ALL=C
for v in $(compgen -e | grep '^LOGREC'); do unset "$v"; done
unset LD_PRELOAD
. "$here/newest.sh"
. "$here/library.sh"

if [ "$(uname -s)" != Linux ]; then
  echo "surroundings.sh is for Linux" && exit 77
fi
logparse=$build/logparse
(cd "$here/../.." && CGO_ENABLED=0 go build -o "$logparse" ./cmd/logparse) || exit 2

skip() { echo "skip $1: $2"; skipped=$((skipped + 1)); }

# begin NAME: a case.
begin() {
  name="$1 ($way)" bad=0
  rm -rf "$build/plain" "$build/recorded"
  mkdir -p "$build/plain" "$build/recorded/logs"
}
fail() { echo "FAIL $name: $*" && bad=1; }
end() { if [ $bad = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi; }

# both COMMAND: runs a shell's command with $program, in a folder of its own, plain and recorded. Into the logs' folder $logs
# the recorded one writes.
both() {
  local d
  for d in plain recorded; do
    (
      cd "$build/$d" && logs=$build/$d/logs program=$with/plain
      ulimit -c 0
      if [ $d = recorded ]; then
        program=$with/recorded
        export LOGREC_FILE=${file:-$logs/} LOGREC_CRASH=${crash:-}
        [ "$way" != preloaded ] || export LD_PRELOAD=$lib/liblogrec.so
      fi
      eval "$1"
    ) >"$build/$d/stdout" 2>"$build/$d/stderr" </dev/null
    echo $? >"$build/$d/status"
  done
  for d in stdout status out; do
    cmp -s "$build/plain/$d" "$build/recorded/$d" || [ ! -e "$build/plain/$d" ] || fail "other $d: $(diff "$build/plain/$d" "$build/recorded/$d" | head -n 4 | tr '\n' ' ')"
  done
}

# info WORDS...: what logparse says of the one log has each of these lines, patterns of grep; with ! in front it has not.
info() {
  local line log
  log=$(find "$build/recorded/logs" -name '*.lptrace')
  [ "$(echo "$log" | grep -c .)" = 1 ] || { fail "logs: $log"; return; }
  "$logparse" info "$log" --no-index-cache --no-recorded-paths >"$build/info" 2>&1 || fail "$(head -n 3 "$build/info")"
  for line; do
    case $line in
    !*) ! grep -qE -- "${line#!}" "$build/info" || fail "it says: $(grep -E -- "${line#!}" "$build/info")" ;;
    *) grep -qE -- "$line" "$build/info" || fail "no line $line in: $(cat "$build/info")" ;;
    esac
  done
}

# said WORDS: the recorded program's standard error has them.
said() { grep -qF -- "$1" "$build/recorded/stderr" || fail "not said: $1, but: $(cat "$build/recorded/stderr")"; }

# no_tail: the log ends with its last chunk.
no_tail() {
  local log size end
  log=$(find "$build/recorded/logs" -name '*.lptrace')
  size=$(stat -c %s "$log") end=$(od -An -t u8 -j 88 -N 8 "$log" | tr -d ' ')
  [ "$size" = "$end" ] || fail "$size bytes, the chunks end at $end"
}

# The cases of limits.
limits() {
  local limit
  # An address space that the log alone could fill.
  for limit in 20000 28000 30000 200000; do
    begin "memory, ulimit -v $limit" && both "ulimit -v $limit; \$program memory" && info 'records  *8002$' '!lost' && end
  done
  begin "a limit on the address space that comes later" && both '$program later' && info 'records  *2004$' && end
  begin "no memory for a thread" && both '$program full' && info 'records  *2004$' '2000 events were lost: there was no memory' && end
  for limit in 8 700 1000; do
    begin "descriptors, ulimit -n $limit" && both "ulimit -n $limit; \$program descriptors" && info 'records  *2004$' && end
    begin "standard output closed, ulimit -n $limit" && both "ulimit -n $limit; \$program descriptors >&-" && info 'records  *2004$' && end
    begin "all closed, ulimit -n $limit" && both "ulimit -n $limit; \$program descriptors <&- >&- 2>&-" && info 'records  *2004$' && end
  done
  # The log may be truncated at any time; handlers of the program are its own.
  for crash in first last off; do
    file=$build/recorded/logs/log.lptrace
    begin "log truncated, LOGREC_CRASH=$crash" && both '$program truncated 1000000 "${LOGREC_FILE:-}"' && said 'somebody has truncated it' && end
    begin "log truncated, a handler, LOGREC_CRASH=$crash" && both '$program truncated 1000000 "${LOGREC_FILE:-}" handled' && said 'somebody has truncated it' && end
    file=
  done
  crash=
}

# The log keeps nothing of the disk that it does not need, however it ends.
tails() {
  begin "the tail after a crash" && both '$program abort 200000' && no_tail && end
  begin "the tail at a limit on files" && both 'ulimit -f 2500; $program calls 2000000' && said 'the file may not grow any more' && no_tail && end
  if mkdir -p "$build/disk" && mount -t tmpfs -o size=3000k none "$build/disk" 2>/dev/null; then
    disk=$build/disk
    file=$disk/
    begin "the tail on a full disk" && both '$program calls 2000000' && said 'no space left on the disk' && mv "$disk"/*.lptrace "$build/recorded/logs/" && no_tail && end
    file=
    umount "$disk" && disk=
  else
    skip "the tail on a full disk ($way)" "no right to mount"
  fi
}

# names: a log cannot be written into a device or a pipe, and the program is told; info says what a limit on files was.
names() {
  local before
  before=$(ls /dev | wc -l)
  file=/dev/full
  begin "LOGREC_FILE=/dev/full" && both '$program calls 5' && said '/dev/full: it is no ordinary file' && [ "$(ls /dev | wc -l)" = "$before" ] || fail "files in /dev"
  end
  file=$build/pipe
  [ -p "$file" ] || mkfifo "$file"
  begin "LOGREC_FILE=a pipe" && both '$program calls 5' && said "$file: it is no ordinary file" && end
  file=
  begin "info of a limit on files" && both 'ulimit -f 1000; $program calls 2000000' && info 'stopped at the limit on the size of files' '!disk was full' && end
}

# A daemon's log begins with the calls that are open in it, although the child between has recorded nothing.
children() {
  local how n
  for how in "" own; do
    begin "a daemon, ${how:-by the C library}" && both "\$program daemons 50 $how; sleep 0.1"
    # The log of the program itself has these as its first calls.
    n=$(for log in "$build"/recorded/logs/*.lptrace; do "$logparse" info "$log" --no-index-cache --no-recorded-paths; done 2>/dev/null | grep -c 'calls that were open on thread .* when the process was forked: 2;')
    [ "$n" = 1 ] || fail "$n logs begin with two open calls"
    end
  done
  begin "a child without /proc" && both '$program no-proc'
  if [ "$(cat "$build/plain/status")" = 77 ]; then
    skip "$name" "no right to unmount /proc"
    return
  fi
  # In a variable: grep ends at the first line that fits.
  for log in "$build"/recorded/logs/*.lptrace; do
    n=$("$logparse" show "$log" --no-index-cache 2>/dev/null)
    grep -qF -- '-> leaf' <<<"$n" || fail "no names in $(basename "$log")"
  done
  n=$(ls "$build/recorded/logs" | grep -c '^recorded\.')
  [ "$n" = 2 ] || fail "logs: $(ls "$build/recorded/logs")"
  end
}

# What the program inherits by logparse record is what record has from its caller, and a program that asks to be traced
# goes on.
by_record() {
  local what record="$logparse record -q --library $lib/liblogrec.so -o $build/recorded/rec"
  for what in 0 1 2 3; do
    begin "record: blocked signals, timers, $what"
    "$with/plain" hand-on $what "$with/plain" inherited >"$build/plain/stdout" 2>&1
    "$with/plain" hand-on $what $record "$with/recorded" inherited >"$build/recorded/stdout" 2>&1
    cmp -s "$build/plain/stdout" "$build/recorded/stdout" || fail "$(cat "$build/recorded/stdout"), not $(cat "$build/plain/stdout")"
    end
  done
  begin "record: PTRACE_TRACEME"
  timeout -k 1 60 $record "$with/recorded" traced >"$build/recorded/stdout" 2>&1
  [ "$?$(cat "$build/recorded/stdout")" = 40 ] || fail "status $?: $(cat "$build/recorded/stdout")"
  end
}

file= crash=
for compiler in gcc clang; do
  cc=$(newest $compiler) || {
    skip $compiler "it is not here"
    continue
  }
  recorder "$cc" "" || exit 1
  for way in preloaded linked; do
    with=$build/$compiler-$way
    mkdir -p "$with"
    libraries=
    [ $way = preloaded ] || libraries="$lib/liblogrec.a"
    $cc -O1 -g -Wall -Wextra -pthread "$here/surroundings.c" -o "$with/plain" -ldl &&
      $cc -O1 -g -Wall -Wextra -pthread -finstrument-functions "$here/surroundings.c" $libraries -o "$with/recorded" -ldl || exit 1
    limits
    tails
    children
    names
    [ $compiler-$way != gcc-preloaded ] || by_record
  done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
