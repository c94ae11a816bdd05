#!/bin/bash
# Measures, in the real program on a display of its own, how long it takes from a key that goes elsewhere in
# a large log to the picture with the rows there: the median and the longest of many.
#
#   keys.sh LOGPARSER [RECORDS] [KEYS]
#
# RECORDS are 20 million unless given, KEYS 200. Needs Xvfb, xdotool and Go for the log.
set -u
program=$(realpath "${1:?the window program}")
records=${2:-20000000} keys=${3:-200}
shots= screen=1240x800 longest=900
here=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/driver.sh"

mkdir "$work/log"
(cd "$here" && CGO_ENABLED=0 go run ./scripts/genlog -records "$records" "$work/log") >"$work/err" 2>&1 || fail "no log was made"
begin '{"language":"en","theme":"light"}' "$(echo "$work"/log/*.dat)"
for _ in $(seq 300); do grep -q '^loaded' "$work/trace" && break; sleep 1; done
event loaded
click 420 400
before=$(grep -c '^drawn' "$work/trace")
sent=0
while [ $sent -lt "$keys" ]; do
	case $((sent % 8)) in
	0) xdotool key End ;;
	1 | 2 | 5) xdotool key Prior ;;
	3) xdotool key Home ;;
	6) xdotool key m ;;
	*) xdotool key Next ;;
	esac
	# A place that was not seen before.
	if [ $((sent % 8)) = 7 ]; then
		xdotool key ctrl+g
		sleep 0.3
		text "$(((sent + 1) * (records / (keys + 1))))"
		xdotool key Return
	fi
	sent=$((sent + 1))
	sleep 0.25
done
sleep 1
sed -n 's/^drawn \([0-9]*\) us$/\1/p' "$work/trace" | tail -n +$((before + 1)) | sort -n >"$work/times"
n=$(wc -l <"$work/times")
[ "$n" -ge $((keys / 2)) ] || fail "only $n pictures for $keys keys"
awk -v n="$n" -v records="$records" -v load="$(cut -d ' ' -f 1 /proc/loadavg)" '{ t[NR] = $1 / 1000 }
	END { printf "xvfb: from key to picture at %d rows, %d keys: median %.1f ms, of a hundred the fifth longest %.1f ms, longest %.1f ms, load %s\n", records, n, t[int((n + 1) / 2)], t[int(n * 0.95)], t[n], load }' "$work/times"
end
