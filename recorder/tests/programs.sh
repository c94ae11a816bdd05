#!/bin/bash
# programs.sh [-n MOST] [FOLDER...]: programs that were not written for the
# recorder, with it and without.
#
# Each C and C++ source of the folders (by default recorder/tests/programs) is a
# program; a name that begins with lib is a library for others and left out. It is built with
# gcc and clang, at -O0 and -O2, by each way in:
#
#	linked     -finstrument-functions, linked with the recorder
#	preloaded  -finstrument-functions alone, the recorder preloaded
#	fentry     gcc's -pg -mfentry -minstrument-return=call, linked
#
# With the recorder it must print and return what it prints and returns with a hook
# that only writes lines (plain_hook.c), end by the same signal, and leave logs
# without damage. By the first two ways the logs must have exactly that hook's
# events: for each thread of each process the same functions entered and left in
# the same order; of a program with vfork, whose child is in its parent's memory and writes
# into its log, the same functions as often. What differs from run to run without the recorder (addresses,
# times) is found out by running twice and not compared.
#
# -n takes that many of the programs, evenly. Sources that a compiler refuses
# are skipped. The last line is "N passed, N failed, N skipped"; a program by one
# way counts as one. Exit: 0 nothing failed.

set -u
here=$(cd "$(dirname "$0")" && pwd)
include=$here/../include root=$here/../..
most=0
[ "${1:-}" = -n ] && most=$2 && shift 2
[ $# -gt 0 ] || set -- "$here/programs"
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
passed=0 failed=0 skipped=0
export LC_ALL=C
for v in $(compgen -e | grep '^LOGREC'); do unset "$v"; done
unset LD_PRELOAD PLAIN_LOG
. "$here/newest.sh"
. "$here/library.sh"

if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
  echo "programs.sh is for Linux x86-64" && exit 77
fi
# Without it addresses differ from run to run, and events cannot be compared.
if ! setarch -R true 2>/dev/null; then
  echo "addresses cannot be kept from changing here" && exit 77
fi
(cd "$root" && CGO_ENABLED=0 go build -o "$build/logparse" ./cmd/logparse) || exit 2

# plain_hook CC: the hook that only writes lines, by its own name and by the recorder's, in the folder plain.
plain_hook() {
  plain=$build/plain-$(basename "$1")
  mkdir -p "$plain" &&
    "$1" -O1 -fPIC -shared "$here/programs/plain_hook.c" -o "$plain/libplain.so" -ldl &&
    "$1" -O1 -fPIC -shared "$here/programs/plain_hook.c" -o "$plain/liblogrec.so" -ldl -Wl,-soname,liblogrec.so
}

# run NAME ENVIRONMENT...: runs ./program in a new folder NAME, and leaves there what it
# printed and how it ended.
run() {
  local d=$work/$1
  shift
  mkdir -p "$d/files" "$d/run"
  {
    (cd "$d/run" && ulimit -c 0 && exec timeout -s KILL 60 env "$@" setarch -R "$work/program" <"$here/programs.sh" >"$d/out" 2>"$d/err")
    echo $? >"$d/status"
  } 2>/dev/null # the shell's word about signals
  # Children that outlive it.
  sleep 0.05
}

# same FILE: 1 where both plain runs printed the same and the recorded one did not.
differs() {
  cmp -s "$work/plain/$1" "$work/again/$1" && ! cmp -s "$work/plain/$1" "$work/recorded/$1"
}

# plain_events, recorded_events: of a run, for each thread its events in one line each
# thread, sorted, so that ids do not matter. Addresses outside the program count by
# their place in the page: other libraries are loaded at other places.
shorten='{ a = $2; if (substr(a, 1, 6) != "555555") a = substr(a, length(a) - 2); printf "%s%s ", $1, a }'
plain_events() {
  local f
  for f in "$work/$1"/files/plain.*; do
    [ -e "$f" ] && awk "$shorten END { print \"\" }" "$f"
  done | sort
}
# A forked child's log begins with enters of the calls that were open at the fork;
# the hook wrote these in the parent.
recorded_events() {
  local f t inherited
  for f in "$work/recorded"/files/*.lptrace; do
    [ -e "$f" ] || continue
    "$build/logparse" save "$f" -o "$work/events.csv" --replace --no-index-cache --no-recorded-paths >/dev/null 2>"$work/save.err" || cat "$work/save.err"
    inherited=$("$build/logparse" info "$f" --no-index-cache --no-recorded-paths 2>/dev/null |
      sed -n 's/.*calls that were open on thread \([0-9]*\) when the process was forked: \([0-9]*\);.*/\1 \2/p')
    sed 1d "$work/events.csv" | sed 's/"[^"]*"//g' |
      awk -F, -v thread="${inherited% *}" -v skip="${inherited#* }" -v out="$work/thread." \
        '$3 == thread && skip-- > 0 { next } { print substr($4, 1, 1), substr($11, 3) > (out $3) }'
    for t in "$work"/thread.*; do
      [ -e "$t" ] && awk "$shorten END { print \"\" }" "$t" && rm -f "$t"
    done
    rm -f "$work/events.csv"
  done | sort
}

fail() {
  echo "FAIL $name: $*"
  bad=1
}

# check CC LEVEL WAY SOURCE
check() {
  local cc=$1 level=$2 way=$3 source=$4 base compiler flags hooks=-finstrument-functions libraries= recorded=
  base=$(basename "$source")
  name="$base $(basename "$cc") $level $way"
  bad=0
  work=$build/work
  rm -rf "$work" && mkdir -p "$work"
  compiler=$cc
  case $source in *.cpp) compiler=${cc/gcc/g++} compiler=${compiler/clang/clang++} ;; esac
  flags="-g -w $level -pthread -rdynamic"
  [ "$way" != fentry ] || hooks="-pg -mfentry -minstrument-return=call"
  [ "$way" = preloaded ] || libraries="-L$lib -llogrec -Wl,-rpath,$lib,--enable-new-dtags"
  if ! $compiler $flags $hooks "$source" $libraries -o "$work/program" -ldl -lm >"$work/log" 2>&1; then
    # Perhaps it is for one compiler, or a part of something larger.
    skipped=$((skipped + 1))
    echo "skip $name: $(grep -m 1 -E 'error|undefined' "$work/log" | cut -c 1-150)"
    return
  fi
  if [ "$way" = fentry ]; then
    # The plain hook is of another kind.
    run plain LOGREC=off
    run again LOGREC=off
  else
    # In a linked program the hook is in the recorder's place: not even what the recorder
    # does when it is off may be among its events, such as calls of the program's malloc.
    local hook=LD_LIBRARY_PATH=$plain
    [ "$way" = preloaded ] && hook=LD_PRELOAD=$plain/libplain.so
    run plain "$hook" PLAIN_LOG="$work/plain/files/plain"
    run again "$hook" PLAIN_LOG="$work/again/files/plain"
  fi
  [ "$way" = preloaded ] && recorded=LD_PRELOAD=$lib/liblogrec.so
  run recorded LOGREC_FILE="$work/recorded/files/" $recorded
  differs status && fail "status $(cat "$work/recorded/status"), without the recorder $(cat "$work/plain/status")"
  differs out && fail "other output: $(diff "$work/plain/out" "$work/recorded/out" | head -n 4)"
  differs err && fail "other errors: $(diff "$work/plain/err" "$work/recorded/err" | head -n 4)"
  local f logs=0
  for f in "$work/recorded"/files/*.lptrace; do
    [ -e "$f" ] || continue
    logs=$((logs + 1))
    "$build/logparse" info "$f" --no-index-cache --no-recorded-paths >"$work/info" 2>&1 || fail "$(basename "$f"): $(head -n 1 "$work/info")"
    grep -q '^damage *none' "$work/info" || fail "$(basename "$f"): $(grep '^damage' "$work/info")"
  done
  [ $logs -gt 0 ] || fail "no log"
  if [ "$way" != fentry ]; then
    plain_events plain >"$work/plain.events"
    plain_events again >"$work/again.events"
    if ! grep -q 'vfork(' "$source" && cmp -s "$work/plain.events" "$work/again.events"; then
      recorded_events >"$work/recorded.events"
      cmp -s "$work/plain.events" "$work/recorded.events" ||
        fail "other events: $(diff <(tr ' ' '\n' <"$work/plain.events") <(tr ' ' '\n' <"$work/recorded.events") | head -n 6 | tr '\n' ' ')"
    else
      plain_counts=$(tr ' ' '\n' <"$work/plain.events" | grep . | sort | uniq -c)
      again_counts=$(tr ' ' '\n' <"$work/again.events" | grep . | sort | uniq -c)
      if [ "$plain_counts" = "$again_counts" ]; then
        recorded_events >"$work/recorded.events"
        [ "$(tr ' ' '\n' <"$work/recorded.events" | grep . | sort | uniq -c)" = "$plain_counts" ] || fail "other counts of functions"
      fi
    fi
  fi
  if [ $bad = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

sources=()
for d; do
  for f in "$d"/*.c "$d"/*.cpp; do
    case $(basename "$f") in lib* | s-lib* | plain_hook.c) continue ;; esac
    [ -e "$f" ] && sources+=("$f")
  done
done
if [ "$most" -gt 0 ] && [ "$most" -lt ${#sources[@]} ]; then
  chosen=()
  for ((i = 0; i < most; i++)); do chosen+=("${sources[i * ${#sources[@]} / most]}"); done
  sources=("${chosen[@]}")
fi

for cc in gcc clang; do
  command=$(newest $cc) || {
    echo "skip everything by $cc: it is not here"
    skipped=$((skipped + ${#sources[@]}))
    continue
  }
  recorder "$command" "" && plain_hook "$command" || exit 1
  for level in -O0 -O2; do
    for way in linked preloaded fentry; do
      [ $cc$way != clangfentry ] || continue # it sees no leaves
      for source in "${sources[@]}"; do check "$command" $level $way "$source"; done
    done
  done
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
