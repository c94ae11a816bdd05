# library.sh is read by the other scripts: it builds the trace recorder for Linux, once for each
# compiler and flags. What several scripts build is kept in the folder RECORDER_LIBRARIES, if that
# is set (scripts/test.sh empties it first); else in the caller's folder $build.

# recorder CC FLAGS: the library, both forms, in the folder lib, which it sets.
recorder() {
  local cc=$1
  lib=${RECORDER_LIBRARIES:-$build}/lib-$(basename "$cc")${2//[^a-zA-Z0-9,=-]/}
  mkdir -p "$lib"
  (
    flock 9
    [ -e "$lib/liblogrec.so" ] || compile_recorder "$lib" "$cc" "$2"
  ) 9>"$lib/lock"
}

compile_recorder() {
  local d=$1 cc=$2 tests=${BASH_SOURCE[0]%/*}
  tests=$(cd "$tests" && pwd)
  (cd "$d" && $cc -std=c99 -O2 -g -fPIC -fvisibility=hidden -pthread -Wall -Wextra -Werror -I"$tests/../include" $3 -c "$tests"/../src/*.c "$tests"/../src/*.S) &&
    rm -f "$d/liblogrec.a" && ar rcs "$d/liblogrec.a" "$d"/*.o &&
    $cc $3 -shared "$d"/*.o -o "$d/liblogrec.so" -ldl -pthread -Wl,-z,nodelete -Wl,-soname,liblogrec.so
}
