#!/bin/bash
# conformance.sh holds the symbol readers against tables and answers that other
# tools made, and against each other.
#
#	scripts/conformance.sh
#
# It runs every test named TestConformance... below symbols (a reader's
# conformance_test.go says what its own is held against, the package symtest
# how names, rows and sizes are compared), then the command "logparse resolve"
# on every way of keeping DWARF. It prints every difference with its cause, how
# often each cause occurs, and a line of scores for each file; a score counts
# the explained differences as agreeing and says how many they are. All of it
# is kept in build/conformance.txt.
#
# The exit status is 1 if a bar is missed, or if a difference has no cause.
set -u
cd "$(dirname "$0")/.."

out=$PWD/build/conformance
rm -rf "$out"
mkdir -p "$out"
export CGO_ENABLED=0 LC_ALL=C.UTF-8
status=0

# The packages' own tests.
dirs=$(grep -rl --include='*_test.go' '^func TestConformance' symbols | xargs -n 1 dirname | sort -u | sed 's|^|./|')
go test -count 1 -v -run '^TestConformance' $dirs >"$out/log" 2>&1 || status=1
# Of a line of a test's log, what stands behind the place in the source.
sed -n 's/^ *[a-z_]*_test\.go:[0-9]*: \(difference\|cause\|scores\)|/\1|/p' "$out/log" >"$out/records"

# The command on the pairs that package dwarf builds: an image and what
# belongs to it, alone in a folder, must give the answers of its full twin,
# which has a folder too. "file>place" puts a file elsewhere: an unpacked
# package below "tree", which is the symbol path. The status of the symbols'
# file may differ.
pairs() {
	local data=symbols/dwarf/testdata name full files f n all path
	go build -o "$out/logparse" ./cmd/logparse || return 1
	while read -r name full files; do
		mkdir -p "$out/$name" "$out/$full"
		cp "$data/$full.so" "$out/$full/"
		for f in $files; do
			mkdir -p "$out/$name/$(dirname "${f#*>}")"
			cp "$data/${f%%>*}" "$out/$name/${f#*>}"
		done
		awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%#x\n", i }' >"$out/addresses"
		for f in "$name" "$full"; do
			path=()
			[ ! -d "$out/$f/tree" ] || path=(--symbols "$out/$f/tree")
			"$out/logparse" resolve --json --image "$out/$f/$f.so" "${path[@]}" <"$out/addresses" 2>"$out/$f/errors" |
				sed 's/,"status":"[^"]*"//' >"$out/$f/answers"
		done
		n=$(diff "$out/$name/answers" "$out/$full/answers" | grep -c '^<')
		all=$(grep -c '"function"' "$out/$full/answers")
		[ "$all" -gt 500 ] || { echo "error|$name: only $all of its twin's addresses have a name" && continue; }
		[ "$n" -eq 0 ] || echo "error|$name: $n of $all answers differ from those of $full"
		echo "scores|logparse resolve, $name and its twin $full, every byte|$(awk -v a="$all" -v d="$n" \
			'BEGIN { printf "%.2f %% of %d", 100 * (a - d) / a, a }')|-|-|-|-|-"
	done <<-END
		gcc5-zlib gcc5 gcc5-zlib.so
		gcc5-zlib-gnu gcc5 gcc5-zlib-gnu.so
		gcc5-zstd gcc5 gcc5-zstd.so
		clang5-zlib clang5 clang5-zlib.so
		clang5-zstd clang5 clang5-zstd.so
		gcc5-stripped gcc5 gcc5-stripped.so gcc5.debug
		clang5-stripped clang5 clang5-stripped.so clang5.debug
		gcc5-dwz gcc5 gcc5-dwz.so gcc5-dwz.alt
		clang4-dwz clang4 clang4-dwz.so clang4-dwz.alt
		gcc5-tree gcc5 gcc5-stripped.so>gcc5-tree.so gcc5-dbgsym.debug>tree/usr/lib/debug/.build-id/af/eda5eaf1ad95a24b1d1139d14a564ed7eeaaea.debug gcc5-dwz.alt>tree/usr/lib/debug/.dwz/x86_64-linux-gnu/gcc5-dwz.alt
		clang4-tree clang4 clang4-dbgsym.so>clang4-tree.so clang4-dbgsym.debug>tree/usr/lib/debug/.build-id/74/b4c7f204fb9922fe531940bcf9c8db631c5d50.debug clang4-dwz.alt>tree/usr/lib/debug/.dwz/x86_64-linux-gnu/clang4-dwz.alt
		gcc4-split gcc4 gcc4-split.so gcc4-split-main.dwo gcc4-split-count.dwo
		gcc5-split gcc5 gcc5-split.so gcc5-split-main.dwo gcc5-split-count.dwo
		clang4-split clang4 clang4-split.so clang4-split-main.dwo clang4-split-count.dwo
		clang5-split clang5 clang5-split.so clang5-split-main.dwo clang5-split-count.dwo
		gcc4-dwp gcc4 gcc4-dwp.so gcc4-dwp.so.dwp
		gcc5-dwp gcc5 gcc5-dwp.so gcc5-dwp.so.dwp
		clang4-dwp clang4 clang4-dwp.so clang4-dwp.so.dwp
		clang5-dwp clang5 clang5-dwp.so clang5-dwp.so.dwp
	END
}
pairs >"$out/pairs" || status=1
grep -q '^error|' "$out/pairs" && status=1
cat "$out/pairs" >>"$out/records"

# column of util-linux is not everywhere.
table() { awk -F'|' '{ line[NR] = $0; for (i = 1; i <= NF; i++) if (length($i) > w[i]) w[i] = length($i); if (NF > n) n = NF }
	END { for (r = 1; r <= NR; r++) { k = split(line[r], f, "|"); s = ""
		for (i = 1; i <= k; i++) s = s sprintf(i < k ? "%-" w[i] + 2 "s" : "%s", f[i]); print s } }'; }

{
	echo "== Differences"
	sed -n 's/^difference|\([^|]*\)|\(.*\)|\([^|]*\)$/\1: \2: \3/p' "$out/records" | sed 's/|/, /g'
	echo
	echo "== Causes"
	{
		echo "file|what|times|cause"
		sed -n 's/^cause|//p' "$out/records"
	} | table
	echo
	echo "== Scores"
	{
		echo "reader and table|names|parameters|line rows|sizes|inlined calls|publics"
		sed -n 's/^scores|//p' "$out/records"
	} | table
	echo
	grep -E '^(--- |    --- )?(FAIL|SKIP)|^ *--- (FAIL|SKIP)' "$out/log"
	grep -E 'have no known cause|, want [0-9.]+$' "$out/log"
	sed -n 's/^error|/error: /p' "$out/records"
	echo "$(grep -c '^scores|' "$out/records") comparisons, $(grep -c '^difference|' "$out/records") differences listed, $(grep -c 'UNEXPLAINED' "$out/records") of them without a cause"
} | tee build/conformance.txt
[ $status -eq 0 ] || echo "FAILED; the whole output of the tests is in build/conformance/log"
exit $status
