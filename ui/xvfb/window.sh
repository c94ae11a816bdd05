#!/bin/bash
# Takes the pictures of docs/window.md with the real program on a display of its own.
#
#   window.sh LOGPARSER LOGPARSE FOLDER
#
# LOGPARSER is the window's program, LOGPARSE the command. Needs Xvfb, xdotool and ImageMagick.
set -u
program=$(realpath "${1:?the window program}")
command=$(realpath "${2:?the command}")
mkdir -p "${3:?the folder for pictures}"
shots=$(realpath "$3")
sample=$(realpath "$(dirname "$0")/../../assets/sample")
screen=1240x800
. "$(dirname "$0")/driver.sh"

mkdir /tmp/logtest 2>/dev/null && neutral=/tmp/logtest
shown=${neutral:-$work}/sample
cp -r "$sample" "$shown"

# picture NAME takes it in few colours.
picture() {
	sleep 1
	import -window root "$work/picture.png"
	convert "$work/picture.png" +dither -colors 64 -depth 8 "png8:$shots/window-$1$suffix.png"
}
# over X Y lets the pointer rest.
over() {
	xdotool mousemove 620 790
	sleep 0.3
	xdotool mousemove "$1" "$2"
	sleep 0.2
	xdotool mousemove "$(($1 + 1))" "$2"
	sleep 1.5
}
look() { begin "{\"language\":\"$language\",\"theme\":\"light\"${1:-}}" "$shown/LogDetails.dat"; event loaded; xdotool mousemove 620 790; }
marks=${neutral:-$work}/marks
mkdir "$marks"
"$command" trace load "$(dirname "$0")/../../scripts/exports/marks.txt" "$marks/marks.lptrace" >/dev/null || fail "no trace with marks"

for language in ${LANGUAGES:-en zh}; do
suffix=
[ "$language" = en ] || suffix=-$language

look
xdotool mousemove 300 263 click 3
picture menu
end

look
over 1130 41
picture tip
end

look
key ctrl+f
text clamp
key Return
event found
key ctrl+2
event timeline
sleep 1
xdotool mousemove 500 300 mousedown 1
sleep 0.2
xdotool mousemove 700 320
sleep 0.2
xdotool mousemove 700 320 mouseup 1
sleep 1
picture timeline
end

look ',"highlights":["1 func:factorial event:enter","5 dur:>100ms"]'
key ctrl+shift+p
text highlight
key Return
picture rules
end

look ',"highlights":["1 func:factorial event:enter","5 dur:>100ms"],"parameters":2'
click 300 263
key ctrl+g
text 36
key Return
picture table
end

look
key ctrl+9
event flame
picture flame
end

look
key ctrl+e
picture modules
end

look ',"symbols.cache":"/tmp/symbols"'
key ctrl+comma
picture settings
end

# A second log comes into a tab of its own, and a text with addresses is shown.
look
HOME=$home XDG_CONFIG_HOME=$home/.config XDG_CACHE_HOME=$home/.cache XDG_RUNTIME_DIR=$home/run "$program" "$marks/marks.lptrace"
event loaded 2
picture tabs
end
done
echo "xvfb: pictures of docs/window.md are in $shots"
