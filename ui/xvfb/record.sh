#!/bin/bash
# Records a program with threads in the real program on a display of its own: the form of the start page, the way in with its
# reason, arguments and folders, what to leave out, the rows that come while it runs, Stop, and what is said of a program without hooks.
#
#   record.sh LOGPARSER LOGPARSE [FOLDER]
#
# LOGPARSER is the window's program, LOGPARSE the command; pictures go to FOLDER, if one is given. Needs Xvfb, xdotool,
# ImageMagick and gcc. The last line is "N passed, N failed".
set -u
program=$(realpath "${1:?the window program}")
command=$(realpath "${2:?the command}")
shots=${3:-}
[ -n "$shots" ] && mkdir -p "$shots" && shots=$(realpath "$shots")
screen=1240x800
longest=240
command -v gcc >/dev/null || { echo "xvfb: gcc is missing"; exit 77; }
. "$(dirname "$0")/driver.sh"

folder=$work/subject
mkdir "$folder"
cat >"$folder/served.c" <<'C'
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static void stop(int number) { (void)number; over = 1; }
__attribute__((noinline)) void unwanted(void) { __asm__ volatile(""); }
__attribute__((noinline)) void handle(int n) { unwanted(); if (n % 2) usleep(1000); }
static void *serve(void *p) { for (int n = 0; !over; n++) { handle(n); usleep(20000); } return p; }
int main(int argc, char **argv) {
  pthread_t t[3];
  if (argc != 2 || strcmp(argv[1], "an argument") != 0) return 1;
  signal(SIGTERM, stop);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, serve, NULL);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  return 3;
}
C
gcc -g -O1 -finstrument-functions "$folder/served.c" -o "$folder/served" -pthread || exit 2
gcc -g -O1 "$folder/served.c" -o "$folder/plain" -pthread || exit 2

begin '{"language":"en","theme":"light"}'
# The library is built before, which may take longer than an event is waited for.
XDG_CACHE_HOME=$home/.cache "$command" record -q -o "$work/first" true || exit 2
xdotool mousemove 620 790
shot record-start
key ctrl+shift+r
event 'way in Choose a program'
text "$folder/plain"
event 'way in plain calls no hooks'
shot record-nothing
key ctrl+a
text "$folder/served"
event 'way in served calls the hooks of -finstrument-functions: the recorder is preloaded'
# Buttons stand behind the program and the working folder.
key Tab Tab
text "'an argument'"
key Tab
text "$folder"
key Tab Tab
text log
key Tab
text unwanted
shot record-form
key Return
event 'recording served'
event loaded
sleep 2
shot record-live
before=$("$command" stats "$folder/log" --format csv 2>/dev/null | wc -l)
key ctrl+shift+x
event 'recorded served ended with status 3'
shot record-end
[ "$before" -gt 1 ] || fail "nothing was recorded while it ran"
[ -e "$folder/log/recording.txt" ] || fail "the logs are not in the folder that was asked for"
"$command" stats "$folder/log" >"$work/stats" 2>/dev/null
grep -q handle "$work/stats" || fail "no call of handle was recorded"
! grep -q unwanted "$work/stats" || fail "what was to be left out was recorded"
leave
echo "1 passed, 0 failed"
