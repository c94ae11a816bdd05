#!/bin/bash
# values_plan.sh PLAN PROGRAM: writes PLAN with the addresses and sizes of the functions that it names @NAME@,
# and the build-id, of PROGRAM.
set -u
base=$(readelf -lW "$2" | awk '$1 == "LOAD" { print $3; exit }')
{
  readelf -n "$2" | sed -n 's/^ *Build ID: \(.*\)/s,@build-id@,\1,/p'
  nm -S "$2" | while read -r address size type name; do
    case $type in [tTwW]) printf 's,@%s@,%x %x,\n' "$name" $((0x$address - (base & ~4095))) $((0x$size)) ;; esac
  done
} | sed -f - "$1"
