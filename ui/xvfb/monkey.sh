#!/bin/bash
# Clicks and types at random in the real program on a display of its own, on a log of millions of records, in
# English and Chinese: it must not crash, say nothing of a panic, open no dialog on a dialog, still take what
# it is given, and come back to the memory that it had.
#
#   monkey.sh LOGPARSER [SECONDS] [SEED] [RECORDS]
#
# SECONDS are for each language, 15 unless given; SEED is printed, and chooses the same clicks and keys again.
# Needs Xvfb, xdotool, ImageMagick and Go for the log, of 5 million records unless given.
set -u
program=$(realpath "${1:?the window program}")
seconds=${2:-15} seed=${3:-$RANDOM} records=${4:-5000000}
shots= screen=1240x800 longest=$((${2:-15} + 300))
here=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/driver.sh"

mkdir "$work/log" "$work/elsewhere"
(cd "$here" && CGO_ENABLED=0 go run ./scripts/genlog -records "$records" "$work/log") >"$work/err" 2>&1 || fail "no log was made"
log=$(echo "$work"/log/*.dat)
cd "$work/elsewhere"

# resident is the memory of the program, in MB.
resident() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$(pgrep -P "$running")/status" 2>/dev/null; }

# acts prints a batch for xdotool: random, and the same for the same seed.
acts() { # SEED
	awk -v seed="$1" 'BEGIN {
		srand(seed)
		n = split("Escape Escape Return Tab space Up Down Left Right Home End Prior Next Delete BackSpace F1 F2 F3 F4 F5 F8 F9 slash period comma bracketright " \
			"ctrl+1 ctrl+2 ctrl+3 ctrl+4 ctrl+5 ctrl+6 ctrl+a ctrl+b ctrl+c ctrl+e ctrl+f ctrl+g ctrl+i ctrl+l ctrl+m ctrl+r ctrl+s ctrl+t ctrl+u ctrl+w ctrl+comma " \
			"ctrl+shift+p ctrl+shift+l ctrl+shift+f ctrl+shift+b ctrl+shift+u ctrl+Tab alt+Left alt+Right shift+Down shift+Next shift+F3 a d f h l m n s t u w", keys, " ")
		k = split("func:f thread:1 dur:>1ms time:0s..1s -module:a or ( \" 0.5s 12 99999999 f0 ~[ in:f depth:<3 row:100..200 row", words, " ")
		for (i = 0; i < 25; i++) {
			r = rand()
			x = int(rand() * 1240); y = int(rand() * 800)
			if (r < 0.35) print "mousemove", x, y, "click", 1
			else if (r < 0.45) print "mousemove", x, y, "click", 3
			else if (r < 0.52) print "mousemove", x, y, "click --repeat 3 --delay 20", rand() < 0.5 ? 4 : 5
			else if (r < 0.58) print "mousemove", x, y, "mousedown 1 mousemove", int(rand() * 1240), int(rand() * 800), "mouseup 1"
			else if (r < 0.61) print "mousemove", x, y, "click --repeat 2 --delay 30 1"
			else if (r < 0.90) print "key", keys[1 + int(rand() * n)]
			else print "type --delay 2 " "\"" words[1 + int(rand() * k)] " \""
			print "sleep 0.02"
		}
	}' | sed 's/"""/"\\""/'
}

# sound looks at what the program said.
sound() {
	if grep -E '^panic|fatal error|^goroutine |SIGSEGV|Error in Fyne call thread' "$work/err" >&2; then
		fail "the program fell over (seed $seed)"
	fi
	grep -q '^stacked' "$work/trace" && fail "a dialog was opened on a dialog (seed $seed)"
	return 0
}

# give starts the program once more, as a double click does: the one that runs takes the log.
give() {
	HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache XDG_RUNTIME_DIR=$home/run \
		timeout 20 "$program" "$log" >/dev/null 2>&1
}

# open starts the program on the log.
open() {
	start "$log"
	event loaded
	restarts=$((restarts + 1))
}

for language in en zh; do
	restarts=-1 batches=0
	begin "{\"language\":\"$language\"}" "$log"
	event loaded
	key ctrl+2
	key ctrl+4
	key ctrl+1
	sleep 2
	level=$(resident)
	until=$((SECONDS + seconds)) restarts=0
	while [ $SECONDS -lt $until ]; do
		acts "$seed$batches" >"$work/acts"
		timeout 60 xdotool - <"$work/acts" >/dev/null 2>&1
		batches=$((batches + 1))
		sound
		if ! kill -0 "$running" 2>/dev/null; then
			wait "$running"
			status=$?
			[ $status = 0 ] || fail "the program ended with status $status (seed $seed, batch $batches)"
			open
		elif [ $((batches % 10)) = 0 ]; then
			# It must still take what it is given; what is open is to be closed first.
			give || fail "it does not take a log (seed $seed, batch $batches)"
		fi
	done
	# What is left when all is closed but the log.
	for _ in 1 2 3 4 5 6; do key Escape; done
	for _ in $(seq 12); do key ctrl+w; done
	kill -0 "$running" 2>/dev/null || open
	before=$(grep -c '^loaded' "$work/trace")
	taken=$(grep -c '^taken' "$work/trace")
	give
	event taken $((taken + 1))
	event loaded $((before + 1))
	# The drawing library keeps pictures of texts for a minute.
	for _ in $(seq 90); do
		now=$(resident)
		[ "${now:-0}" -le $((level + level / 4 + 60)) ] && break
		sleep 1
	done
	[ "${now:-0}" -le $((level + level / 4 + 60)) ] || fail "$now MB are in use, $level were at the beginning (seed $seed)"
	sound
	end
	echo "xvfb: $language: $((batches * 25)) clicks and keys, seed $seed: nothing fell over; $level MB at first, $now MB at last; $restarts new starts"
done
