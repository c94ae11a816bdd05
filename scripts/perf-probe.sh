#!/bin/bash
# perf-probe.sh compares the lines of logparse probes with those of perf probe -D.
#
#	scripts/perf-probe.sh LOGPARSE [LIBRARY [FUNCTIONS]]
#
# It takes 500 functions of libstdc++, evenly spread, and looks whether perf puts a probe with the
# same register at the same offset of the file. The last line counts them; it fails where one
# differs. Without perf it says so and ends in order.
set -u
logparse=$1
library=$(readlink -f "${2:-/usr/lib/x86_64-linux-gnu/libstdc++.so.6}")
count=${3:-500}
command -v perf >/dev/null || { echo "skipped: perf is not here"; exit 0; }
[ -e "$library" ] || { echo "skipped: $library is not here"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Names with only one function, so that the mangled one fits nothing else.
nm -D --defined-only "$library" | awk '$2 ~ /^[TW]$/ { sub(/@.*/, "", $3); print $3 }' | sort | uniq -u >"$dir/names"
step=$(($(wc -l <"$dir/names") / count / 2))
[ "$step" -gt 0 ] || step=1
awk -v step="$step" 'NR % step == 0' "$dir/names" >"$dir/chosen"

# Our offsets in the file by the functions' addresses.
"$logparse" probes "$library" '*' --args raw --for uprobe 2>/dev/null |
	awk '$2 == "lp" && $3 == "N" { address[$4] = $7 } /^p:/ { event = substr($1, 6); sub(/.*:/, "", $2); sub(/arg1=/, "", $3); sub(/:x64/, "", $3); print address[event], $2, $3 }' >"$dir/ours"
nm -D --defined-only "$library" | awk '$2 ~ /^[TW]$/ { sub(/@.*/, "", $3); print $3, $1 }' >"$dir/addresses"

same=0 different=0 refused=0
while read -r name; do
	[ $((same + different)) -lt "$count" ] || break
	theirs=$(perf probe -x "$library" --no-demangle -D "$name %di" 2>/dev/null | sed 's/^p:[^ ]* //')
	if [ -z "$theirs" ]; then
		refused=$((refused + 1))
		continue
	fi
	address=$(awk -v n="$name" '$1 == n { print $2; exit }' "$dir/addresses")
	ours=$(awk -v a="0x$(printf '%x' "0x$address")" -v l="$library" '$1 == a { print l ":" $2, $3; exit }' "$dir/ours")
	# perf also finds the procedure linkage table's entry of the name.
	if [ -n "$ours" ] && grep -qxF -- "$ours" <<<"$theirs"; then
		same=$((same + 1))
	else
		different=$((different + 1))
		echo "$name: ours $ours, perf's $theirs"
	fi
done <"$dir/chosen"
echo "$same the same, $different different, and $refused that perf refuses, of functions of $(basename "$library")"
[ "$different" = 0 ]
