#!/bin/bash
# Does what people come for with the real program on a display of its own: eleven tasks, each in a
# window that was never used before, in English and Chinese. Every answer is compared with what the
# command says, and clicks and keys are counted: a task takes six at most. Then a newcomer's way,
# from the empty window to saved files, which takes eight clicks at most.
#
#   tour.sh LOGPARSER LOGPARSE [FOLDER]
#
# LOGPARSER is the window's program, LOGPARSE the command; pictures for docs/tour.md go to FOLDER, if one
# is given. With LANGUAGES=en in the environment only those are gone through. Needs Xvfb, xdotool, xclip and
# ImageMagick.
set -u
program=$(realpath "${1:?the window program}")
command=$(realpath "${2:?the command}")
shots=${3:-}
[ -n "$shots" ] && mkdir -p "$shots" && shots=$(realpath "$shots")
sample=$(realpath "$(dirname "$0")/../../assets/sample")
screen=1240x800
command -v xclip >/dev/null || { echo "xvfb: xclip is missing" >&2; exit 2; }
. "$(dirname "$0")/driver.sh"

mkdir /tmp/logtest 2>/dev/null && neutral=/tmp/logtest
log=${neutral:-$work}/sample
mkdir "$log"

# hottest follows, from the first function on, the callee with most time, while that has more than the function itself.
hottest() {
	"$command" tree "$sample" --format csv 2>/dev/null | tr -d '\r' | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		NR > 2 && ($at["depth"] != depth + 1 || $at["total_us"] <= self) { exit }
		{ depth = $at["depth"]; self = $at["self_us"]; name = $at["function"] }
		END { print name }'
}

most=0
# task NAME WORDS opens the sample in a window that knows nothing.
task() {
	name=$1 words=$2 did= steps=0
	rm -rf "$log"
	cp -r "$sample" "$log"
	begin "{\"language\":\"$language\",\"theme\":\"light\"}" "$log/LogDetails.dat"
	event loaded
	xdotool mousemove 620 790
}

# What a person does; each counts as one: a key with those held down with it, a text that is typed, a click.
press() { steps=$((steps + 1)) did="$did, $*"; key "$@"; }
write() { steps=$((steps + 1)) did="$did, \"$1\""; text "$1"; }
tap() { steps=$((steps + 1)) did="$did, click"; xdotool mousemove "$1" "$2"; sleep 0.2; xdotool click "${3:-1}"; sleep 0.5; }
# drag X Y TO_X
drag() { steps=$((steps + 1)) did="$did, drag"; xdotool mousemove "$1" "$2" mousedown 1; sleep 0.2; xdotool mousemove "$3" "$2"; sleep 0.2; xdotool mousemove "$3" "$2" mouseup 1; sleep 0.5; }
# drag FROM TO with Ctrl held down.
pull() { steps=$((steps + 1)) did="$did, Ctrl and drag"; xdotool mousemove "$1" "$2" keydown ctrl mousedown 1; sleep 0.2; xdotool mousemove "$3" "$4"; sleep 0.2; xdotool mousemove "$3" "$4" mouseup 1 keyup ctrl; sleep 0.5; }

# is WANTED FOUND compares the window's answer with the command's.
is() { [ -n "$1" ] && [ "$1" = "$2" ] || fail "$name: the window says \"$2\", the command \"$1\""; }
# rows EXPRESSION counts rows, first their first index.
rows() { "$command" save "$sample" --where "$1" --columns index -o - --format csv 2>/dev/null | tail -n +2 | wc -l; }
first() { "$command" save "$sample" --where "$1" --columns index -o - --format csv 2>/dev/null | sed -n 2p | tr -d '\r'; }
# last EVENT is what the program told last of it.
last() { sed -n "s/^$1 //p" "$work/trace" | tail -n 1 | tr -d ,; }
# copied is what Ctrl+C takes.
copied() { key ctrl+c; timeout 5 xclip -o -selection clipboard; }

# done_ takes the picture and ends the window.
done_() {
	[ $steps -le 6 ] || fail "$name takes $steps clicks and keys"
	[ $steps -gt $most ] && most=$steps
	[ "$language" = en ] && printf 'xvfb: %d  %-54s %s\n' $steps "$words" "${did#, }"
	picture "$name"
	end
}
picture() {
	[ -n "$shots" ] || return 0
	xdotool mousemove 620 790
	sleep 0.7
	import -window "$window" "$work/picture.png"
	convert "$work/picture.png" +dither -colors 32 -depth 8 "png8:$shots/tour-$1-$language.png"
}

tour() {
	task 1 "the slowest call of a function"
	press ctrl+4
	event statistics
	press slash
	write factorial
	press Down
	press l
	event view 2
	longest=$("$command" stats "$sample" --json | sed -n 's/.*"function":"app::factorial".*"max_us":\([0-9]*\).*/\1/p')
	wanted=$(first "func:=app::factorial event:enter dur:>=${longest}us")
	event "selected $wanted"
	is "$wanted" "$(last selected)"
	done_

	task 2 "what a thread did between two times"
	press ctrl+l
	write "thread:292 time:0.2s..0.3s"
	press Return
	event filtered
	is "$(rows "thread:292 time:0.2s..0.3s")" "$(last filtered)"
	done_

	task 3 "who called a function"
	press ctrl+f
	write "twice<double>"
	press Return
	event found
	press Escape
	press u
	event selected 2
	is "$(copied | cut -f 4 | grep -o 'app::useTemplates')" app::useTemplates
	at=$(last selected)
	is "$at" "$(first "row:$at event:enter func:=app::useTemplates")"
	done_

	task 4 "only the calls of this thread that took more than 5 ms"
	tap 205 243 3
	tap 260 258
	event filtered
	press ctrl+l
	press End
	write " dur:>5ms"
	press Return
	event filtered 2
	is "$(rows "thread:288 dur:>5ms")" "$(last filtered)"
	done_

	task 5 "where the time went"
	press ctrl+3
	event tree
	press h
	is "$(hottest)" "$(copied | sed -n '2s/\t.*//p' | sed 's/^ *//')"
	done_

	task 6 "what ran half a second after the start"
	press ctrl+g
	write 0.5s
	press Return
	wanted=$(first "time:>=0.5s")
	event "selected $wanted"
	is "$wanted" "$(last selected)"
	done_

	task 7 "which function took most time itself"
	press ctrl+4
	event statistics
	tap 575 173
	press Home
	wanted=$("$command" stats "$sample" --sort self --json | head -n 1 | sed 's/.*"function":"\([^"]*\)".*/\1/')
	is "$wanted" "$(copied | sed -n '2s/\t.*//p')"
	done_

	task 8 "where this call ends, and how long it took"
	tap 300 203
	press m
	at=$(first "func:=main event:leave")
	event "selected $at"
	is "$at" "$(last selected)"
	done_

	task 9 "what a thread spent its time with"
	press ctrl+5
	event threads
	press Home
	event filtered
	press ctrl+4
	event statistics
	for thread in 288 292 296 300; do
		[ "$(rows "thread:=$thread")" != "$(last filtered)" ] || break
	done
	wanted=$("$command" stats "$sample" --where "thread:=$thread" --json | head -n 1 | sed 's/.*"function":"\([^"]*\)".*/\1/')
	is "$wanted" "$(copied | sed -n '2s/\t.*//p')"
	done_

	task 10 "the slow calls as a file for a spreadsheet"
	press ctrl+l
	write "dur:>100ms"
	press Return
	event filtered
	press ctrl+s
	press Return
	event saved
	"$command" save "$sample" --where "dur:>100ms" -o "$work/wanted.csv" 2>/dev/null
	cmp "$(last saved)" "$work/wanted.csv" || fail "another file than the command's"
	done_

	task 11 "what is different between two time ranges"
	press ctrl+l
	write "time:0s..0.3s"
	press Return
	event filtered
	press ctrl+2
	event timeline
	drag 500 300 1100
	press c
	event "comparing time:0s..0.3s"
	event "view 4"
	event statistics
	sleep 1
	key Home
	copied >"$work/copied"
	# How many calls of the first function ran in the first of the two times, also in part.
	value() { awk -F '\t' -v head="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == head) at = i } NR == 2 { print $at }' "$work/copied"; }
	function=$(sed -n '2s/\t.*//p' "$work/copied")
	wanted=$("$command" save "$sample" --where "event:enter func:=\"$function\" time:..0.3s" --columns index -o - --format csv 2>/dev/null | tail -n +2 | wc -l)
	head="Calls there"
	[ "$language" = en ] || head=$(sed -n 's/^  "Calls there": "\(.*\)",*$/\1/p' "$(dirname "$0")/../../assets/translations/$language.json")
	is "$wanted" "$(value "$head" | tr -d ,)"
	done_
}

# newcomer goes from the empty window to saved files by the mouse; what is typed are paths.
newcomer() {
	name=newcomer clicks=0
	rm -rf "$log" "$log-symbols"
	mkdir "$log" "$log-symbols"
	cp "$sample"/LogDetails.dat "$sample"/LogDetails.bin "$log"
	cp "$sample"/*.pdb "$log-symbols"
	begin "{\"language\":\"$language\",\"theme\":\"light\"}"
	point 430 78 # modules file
	text "$log/LogDetails.bin"
	point 430 47 # log
	text "$log/LogDetails.dat"
	key Return
	event loaded
	point 756 41 # symbol path
	text "$log-symbols"
	picture newcomer-1
	point 650 550 # OK
	event loaded 2
	local f
	for f in txt csv; do
		point 1058 41
		text "$log/window.$f"
		point 650 558
		event "saved $log/window.$f"
		"$command" save "$log" --symbols "$log-symbols" -o "$work/command.$f" 2>/dev/null || fail "the command cannot save"
		cmp "$log/window.$f" "$work/command.$f" || fail "window and command save different files"
	done
	grep -q app::factorial "$log/window.txt" || fail "no names were saved"
	picture newcomer-2
	end
	rm -rf "$log-symbols"
	[ $clicks -le 8 ] || fail "the newcomer's way takes $clicks clicks"
}
point() { clicks=$((clicks + 1)); click "$@"; }

for language in ${LANGUAGES:-en zh}; do
	tour
	newcomer
	echo "xvfb: $language: log, modules file, symbol path, read, saved as txt and csv with $clicks clicks"
done
echo "xvfb: eleven tasks, each right, with $most clicks and keys at most"
