#!/bin/bash
# same-bytes.sh saves the kept logs of testdata/logtest with the command built
# for this system and with the one built for Windows, under wine, and compares
# the files byte for byte; and opens packed logs there, in a folder without the program
# and its symbols. Exit status 77 where wine or MinGW is missing.
set -u
cd "$(dirname "$0")/../.."

for c in wine wineserver x86_64-w64-mingw32-gcc; do
	command -v $c >/dev/null || { echo "$c is missing" && exit 77; }
done

out=$PWD/build/same-bytes run=$PWD/scripts/wine/run.sh
rm -rf "$out"
mkdir -p "$out"
export CGO_ENABLED=0
go build -o "$out/logparse" ./cmd/logparse || exit 1
GOOS=windows GOARCH=amd64 go build -o "$out/logparse.exe" ./cmd/logparse || exit 1

export WINEPREFIX=$PWD/build/wineprefix WINEDEBUG=-all
unset DISPLAY
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -d "$system" ]; then
	wineboot -i >/dev/null 2>&1
	wineserver -w
fi
if [ ! -e "$system/bcryptprimitives.dll" ]; then
	x86_64-w64-mingw32-gcc -shared -O2 -static-libgcc -o "$system/bcryptprimitives.dll" scripts/wine/prng.c -ladvapi32 || exit 1
fi
# wine's services keep the standard error of the program that starts them open.
wineserver -p
wineboot >/dev/null 2>&1
trap 'wineserver -k' EXIT

passed=0 failed=0
for log in testdata/logtest/*/LogDetails.dat; do
	dir=$(dirname "$log")
	for format in csv txt; do
		file=$out/$(basename "$dir")
		(cd "$dir" && "$out/logparse" save LogDetails.dat --no-recorded-paths -o "$file.$format") &&
			(cd "$dir" && "$run" "$out/logparse.exe" save LogDetails.dat --no-recorded-paths -o "Z:$file.wine.$format")
		if cmp "$file.$format" "$file.wine.$format"; then
			passed=$((passed + 1))
		else
			echo "FAIL    $dir $format"
			failed=$((failed + 1))
		fi
	done
	mkdir -p "$file.packed"
	(cd "$dir" && "$out/logparse" save LogDetails.dat -o "$file.csv" --force && "$out/logparse" pack LogDetails.dat -o "$file.packed/one.lppack") >/dev/null 2>&1 &&
		(cd "$file.packed" && "$run" "$out/logparse.exe" save one.lppack -o "Z:$file.packed/one.csv" 2>/dev/null)
	if cmp "$file.csv" "$file.packed/one.csv"; then
		passed=$((passed + 1))
	else
		echo "FAIL    $dir packed"
		failed=$((failed + 1))
	fi
done
# The types of files that the window registers come and go, and others' stay.
GOOS=windows GOARCH=amd64 go test -c -o "$out/filetypes.exe" ./ui/filetypes || exit 1
if "$run" "$out/filetypes.exe" >"$out/filetypes.txt" 2>&1; then
	passed=$((passed + 1))
else
	cat "$out/filetypes.txt"
	failed=$((failed + 1))
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
