#!/bin/bash
# logtest.sh [OUT]: builds LogTest, the program of the article, with the classic recorder, and says how to run it and
# how to open what it wrote: for this system with its compiler, for Windows with MinGW where that is here. The
# programs lie in OUT/linux and OUT/windows (default: build/sample). On Linux the console program is run once.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/sample}
samples=recorder/samples
flags="-std=c++11 -g -O1 -Wall -Wextra -Werror -Irecorder/include"
console="$samples/logtest/main.cpp $samples/logtest/work.cpp $samples/logtest/threads.cpp"
library="-DLOGTEST_SHAPES -shared $samples/logtest/shapes.cpp $samples/logtest/truth.cpp"
mingw=x86_64-w64-mingw32-g++
built=

if [ "$(uname -s)" = Linux ] && command -v "${CXX:-g++}" >/dev/null; then
	d=$out/linux built=1
	mkdir -p "$d"
	"${CXX:-g++}" $flags -pthread -fPIC $library -o "$d/liblogtest_shapes.so"
	"${CXX:-g++}" $flags -pthread $console -o "$d/logtest" -L"$d" -llogtest_shapes -Wl,-rpath,'$ORIGIN'
	(cd "$d" && ./logtest >/dev/null)
	cat <<-END
		LogTest for Linux is built, and was run once. What it wrote, and how to run it again:
		    build/logparse show $d/LogDetails.dat        (make command builds logparse)
		    build/logparser $d/LogDetails.dat            (make window builds the window)
		    (cd $d && ./logtest)                         the pair before is renamed
	END
fi
if command -v $mingw >/dev/null; then
	d=$out/windows built=1
	mkdir -p "$d"
	$mingw $flags -static $library -o "$d/logtest_shapes.dll" -Wl,--out-implib="$d/liblogtest_shapes.a"
	$mingw $flags -static $console "$d/liblogtest_shapes.a" -o "$d/logtest.exe"
	$mingw $flags -static -mwindows $samples/dialog/dialog.cpp -o "$d/LogTestDlg.exe"
	cat <<-END
		LogTest for Windows is built: logtest.exe in a console, LogTestDlg.exe with the buttons of the article.
		    (cd $d && wine LogTestDlg.exe)               or copy the folder to Windows, and double-click it
		    build/logparse show $d/LogDetails.dat
	END
fi
[ -n "$built" ] || {
	echo "logtest.sh: there is neither g++ nor $mingw; apt-get install g++ (or g++-mingw-w64-x86-64) brings one" >&2
	exit 1
}
