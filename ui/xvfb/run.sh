#!/bin/bash
# Drives the real program on a display of its own: opens a log by argument,
# scrolls to its end, gives it a symbol path, saves it as csv, and compares that
# byte for byte with what the command saves. Then reads a log as a person would
# (filters, folds, jumps, sets a bookmark, finds, saves the filtered rows), quits,
# and finds all as it was left. Then takes screenshots.
#
#   run.sh LOGPARSER LOGPARSE [FOLDER]
#
# LOGPARSER is the window's program, LOGPARSE the command; screenshots go to
# FOLDER, if one is given. With FIRST_ROWS=LOG in the environment it only opens
# that log and prints how long its first rows took to be on the screen. Needs Xvfb, xdotool and ImageMagick's import.
set -u
program=$(realpath "${1:?the window program}")
command=$(realpath "${2:?the command}")
shots=${3:-}
[ -n "$shots" ] && mkdir -p "$shots" && shots=$(realpath "$shots")
sample=$(realpath "$(dirname "$0")/../../assets/sample")

. "$(dirname "$0")/driver.sh"

if [ -n "${FIRST_ROWS:-}" ]; then
	begin '{}' "$FIRST_ROWS"
	event shown
	echo "xvfb: first rows $(sed -n 's/^shown //p' "$work/trace") after opening, of $(sed -n 's/^rows //p' "$work/trace")"
	event loaded
	end
	exit 0
fi

# What is drawn at the start is what is drawn once the drawing library has
# forgotten what it measured and drew before: Chinese without a font of the
# system's, and icons at scale 2. (A change of its settings makes it forget.)
steady() {
	sleep 1
	import -window "$window" "$work/first.png"
	printf '{"theme":"light"}' >"$home/.config/fyne/settings.json"
	sleep 1.5
	import -window "$window" "$work/again.png"
	differing=$(compare -metric AE "$work/first.png" "$work/again.png" null: 2>&1)
	[ "$differing" = 0 ] || fail "$1: $differing pixels are drawn wrongly at the start"
}
begin '{"language":"zh","theme":"light"}'
steady "Chinese"
end
# contrast NAME LEAST WIDTHxHEIGHT+X+Y measures, in the picture that was taken last,
# how far the colour that differs most stands out from the one there is most of.
contrast() {
	convert "$work/again.png" -crop "$3" +repage -depth 8 -format %c histogram:info:- | tr -d ' ' | awk -F '[:(,)]' -v name="$1" -v least="$2" '
		function linear(v) { v /= 255; return v <= 0.04045 ? v / 12.92 : exp(2.4 * log((v + 0.055) / 1.055)) }
		{
			l[NR] = 0.2126 * linear($3) + 0.7152 * linear($4) + 0.0722 * linear($5)
			if ($1 > most) { most = $1; ground = l[NR] }
		}
		END {
			for (i = 1; i <= NR; i++) {
				c = l[i] > ground ? (l[i] + 0.05) / (ground + 0.05) : (ground + 0.05) / (l[i] + 0.05)
				if (c > best) best = c
			}
			printf "%s %.1f:1 ", name, best
			exit best < least
		}' >>"$work/contrasts" || fail "$1: a contrast of $(cat "$work/contrasts"), which is to be $2"
}
for look in light dark; do
	: >"$work/contrasts"
	FYNE_SCALE=2 begin "{\"language\":\"en\",\"theme\":\"$look\",\"window.width\":620,\"window.height\":420}"
	steady "$look at scale 2"
	# The menu that is opened next lies over it.
	contrast "the status" 4.5 190x30+8+918
	click 50 24
	sleep 1
	import -window "$window" "$work/again.png"
	contrast "shortcuts" 4.5 90x30+340+64
	contrast "a checkbox" 3 28x28+944+269
	contrast "hints" 4.5 250x28+450+270
	contrast "grey text" 4.5 140x34+1180+342
	end
	echo "xvfb: $look: $(cat "$work/contrasts")"
done
echo "xvfb: Chinese, and icons at scale 2, are drawn rightly from the start"

# What is to be seen in the pictures has a name that is no machine's own.
mkdir /tmp/logtest 2>/dev/null && neutral=/tmp/logtest
# The log and its modules file alone; the symbols lie elsewhere.
log=${neutral:-$work}/log symbols=${neutral:-$work}/symbols
mkdir "$log" "$symbols"
cp "$sample"/LogDetails.* "$log"
cp "$sample"/*.pdb "$symbols"
rows=$("$command" show "$log" --symbols "$symbols" --json | wc -l)

begin '{"language":"en","theme":"light"}' "$log/LogDetails.dat"
event "rows $rows"
event loaded
shot no-symbols
click 500 400
key End
event "selected $((rows - 1))"
key F9 # the inputs
click 430 145
text "$symbols"
key Return
event loaded 2
click 500 400
key ctrl+f
text factorial
key Return
event found
key Escape
key ctrl+s
key ctrl+w ctrl+o F1 # nothing of this acts behind the dialog
key ctrl+a
text "$work/window.csv"
key Return
event "saved $work/window.csv"
end

"$command" save "$log" --symbols "$symbols" -o "$work/command.csv" || fail "the command cannot save"
cmp "$work/window.csv" "$work/command.csv" || fail "window and command save different files"
echo "xvfb: $rows rows; window and command save the same $(wc -c <"$work/command.csv") bytes; $(grep '^shown' "$work/trace")"

# Reading a log as a person does.
expression='func:factorial dur:>=1ms'
# The settings are those of a version that had Fyne keep them.
settings_at=fyne/io.github.logparser/preferences.json begin '{"language":"en","theme":"light","tabs":false}' "$sample"
event loaded
click 760 500
event selected
key ctrl+l
text "$expression"
key Return
event filtered
key ctrl+s
key ctrl+a
text "$work/filtered.csv"
key Return
event "saved $work/filtered.csv"
"$command" save "$sample" --where "$expression" -o "$work/wanted.csv" || fail "the command cannot save filtered rows"
cmp "$work/filtered.csv" "$work/wanted.csv" || fail "window and command save different filtered rows"
key ctrl+l
key Escape
event unfiltered
# To a row, into its call and back.
key ctrl+g
text 48
key Return
event "selected 48"
key Left
event "filtered $((rows - 7))"
key Right
event unfiltered 2
key ctrl+shift+p
text 'go caller'
key Return
event 'command go-to-caller'
event "selected 47"
key ctrl+b
event "bookmark 47"
key alt+Left
event "selected 48" 2
key ctrl+g
text 0.5s
key Return
sleep 0.5
key F2
event "selected 47" 2
key ctrl+f
text 'is(Odd|Even)'
key Escape
key ctrl+l
text thread:292
key Return
event "filtered" 3
leave
grep -q '"last.log": "'"$sample" "$home/.config/logparser/settings.json" && grep -q '"tabs": false' "$home/.config/logparser/settings.json" ||
	fail "the settings are not kept: $(cat "$home/.config/logparser/settings.json")"
[ "$(cat "$settings")" = '{"language":"en","theme":"light","tabs":false}' ] || fail "the settings of the earlier version were changed"
start
event loaded
event restored
event filtered
grep -q '^rows 1100' "$work/trace" || fail "another log was opened again"
key F2
event "selected 47"
end
echo "xvfb: filtered, folded, jumped, bookmarked; the filtered rows are the same $(wc -c <"$work/filtered.csv") bytes; all was there again"

[ -n "$shots" ] || exit 0
shown=${neutral:-$work}/sample
cp -r "$sample" "$shown"
for look in light dark; do
	for language in en zh; do
		begin "{\"language\":\"$language\",\"theme\":\"$look\"}" "$shown"
		event loaded
		click 420 380
		shot "table-$look-$language"
		end
	done
done
# The other views, each looked at without a mouse.
for look in light:en dark:zh; do
	begin "{\"language\":\"${look#*:}\",\"theme\":\"${look%:*}\",\"panel.shown\":false}" "$shown"
	event loaded
	key ctrl+2
	event timeline
	key period
	event "chosen 0"
	key period
	key Down
	shot "timeline-${look#*:}"
	key ctrl+3
	event tree
	event path
	key Home
	key h
	shot "calltree-${look#*:}"
	key ctrl+4
	event statistics
	key Down
	shot "statistics-${look#*:}"
	key Return
	event "view 0"
	end
done
# What a program wrote into its trace itself.
marks=${neutral:-$work}/marks
mkdir "$marks"
"$command" trace load "$(dirname "$0")/../../scripts/exports/marks.txt" "$marks/marks.lptrace" >/dev/null || fail "no trace with marks"
for look in light:en dark:zh; do
	begin "{\"language\":\"${look#*:}\",\"theme\":\"${look%:*}\",\"panel.shown\":false}" "$marks/marks.lptrace"
	event loaded
	key ctrl+7
	event "annotations "
	key Down
	shot "marks-${look#*:}"
	end
done
begin '{"language":"en","theme":"light"}'
shot start-en
end
begin '{"language":"zh","theme":"dark"}'
shot start-zh
end
# What can be done, by its name.
for look in light:en dark:zh; do
	begin "{\"language\":\"${look#*:}\",\"theme\":\"${look%:*}\"}" "$shown"
	event loaded
	key Down
	key ctrl+shift+p
	text go
	key Down
	shot "palette-${look#*:}"
	key Escape
	key F1
	shot "keys-${look#*:}"
	end
done
# Filtering, folding, and the call stack with the source beside it.
sources=$(realpath "$(dirname "$0")/../..")
for language in en zh; do
	begin "{\"language\":\"$language\",\"theme\":\"light\",\"panel.shown\":false}" "$shown"
	event loaded
	click 760 500
	key ctrl+l
	text 'func:is thread:292 dur:>=2ms '
	key Return
	event filtered
	shot "filter-$language"
	end
	begin "{\"language\":\"$language\",\"theme\":\"light\",\"panel.shown\":false}" "$shown"
	event loaded
	key ctrl+g
	text 6
	key Return
	event "selected 6"
	key Left
	event filtered
	key ctrl+r
	event filtered 2
	key ctrl+g
	text 955
	key Return
	shot "fold-$language"
	end
	begin "{\"language\":\"$language\",\"theme\":\"light\",\"panel.offset\":0.62,\"sources.from\":[\"/logtest\"],\"sources.to\":[\"$sources\"]}" "$shown"
	event loaded
	key ctrl+g
	text 50
	key Return
	event "stack 4"
	event source
	key ctrl+b
	shot "stack-$language"
	end
done
# The symbols of another build give no names, and the window says so.
other=${neutral:-$work}/other-build
mkdir "$other"
cp "$sample"/LogDetails.* "$other"
stale=$sample/../../testdata/logtest/windows-x64-clang
if [ -d "$stale" ]; then
	cp "$stale"/*.pdb "$other"
	begin '{"language":"en","theme":"light"}' "$other"
	event loaded
	shot mismatched
	key F9
	click 1150 174
	event loaded 2
	key F9
	shot mismatched-shown
	end
fi
echo "xvfb: screenshots are in $shots"
