#!/bin/sh
# Builds the files of this folder from shapes.h, main.cpp, count.c and cold.cpp:
# shared libraries and objects with every way of keeping DWARF that the tests
# cover. It needs Debian 12's gcc 12 and binutils, clang-19, lld-19, llvm-19,
# dwz, elfutils and xz-utils.
# Nothing of the machine's paths gets into the files. After it, run
#	go test ./symbols/dwarf -update
# which asks llvm-symbolizer-19 for the expected answers.
set -eu
cd "$(dirname "$0")"
here=$(pwd)
out=$here
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export LC_ALL=C
link="-shared -nostdlib -Wl,--build-id=sha1 -Wl,--hash-style=gnu -Wl,-z,noseparate-code"
common="-fPIC -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -ffile-prefix-map=$here=/src -fdebug-prefix-map=$here=/src "
gxx="g++-12 -std=c++14 -O2 $common -freorder-blocks-and-partition"
clangxx="clang++-19 -std=c++14 -O2 $common -fno-addrsig"

# both NAME "COMPILE OPTIONS" "LINK OPTIONS" COMPILER: compiles in $here, so
# that the debug information names /src, and links into $work/NAME.
both() {
	name=$1 copts=$2 lopts=$3
	shift 3
	cc=$(echo "$*" | sed 's/clang++-19/clang-19/;s/g++-12/gcc-12/;s/-std=c++14//;s/-fno-rtti//')
	"$@" $copts -c main.cpp -o "$work/$name.main.o"
	$cc $copts -c count.c -o "$work/$name.count.o"
	"$@" $(linker "$1") $link $lopts "$work/$name.main.o" "$work/$name.count.o" -o "$work/$name.so"
}

# GCC's files are linked by GNU ld, clang's by lld.
linker() {
	case $1 in clang*) echo -fuse-ld=lld-19 ;; esac
}

for v in 4 5; do
	both gcc$v -gdwarf-$v "" $gxx
	both clang$v -gdwarf-$v "" $clangxx
	cp "$work/gcc$v.so" "$work/clang$v.so" "$out"
done

# The oldest version, which has no ranges, and offsets of 64 bits.
both gcc2 "-gdwarf-2 -gstrict-dwarf" "" $gxx
both gcc64 "-gdwarf-5 -gdwarf64" "" $gxx
both lto "-gdwarf-5 -flto" "-gdwarf-5 -O2 -flto" $gxx
cp "$work/gcc2.so" "$work/gcc64.so" "$work/lto.so" "$out"

# The oldest version, too, where a function has a cold part with inlined calls.
$gxx -gdwarf-2 -gstrict-dwarf $link cold.cpp -o "$out/cold2.so"

# Code that the linker drops or folds.
both gc "-gdwarf-5 -ffunction-sections" "-Wl,--gc-sections -Wl,--version-script=exports.map -Wl,--icf=all" $clangxx
cp "$work/gc.so" "$out/gc.so"

# Compressed sections.
for n in gcc5 clang5; do
	objcopy --compress-debug-sections=zlib "$work/$n.so" "$out/$n-zlib.so"
	llvm-objcopy-19 --compress-debug-sections=zstd "$work/$n.so" "$out/$n-zstd.so"
done
objcopy --compress-debug-sections=zlib-gnu "$work/gcc5.so" "$out/gcc5-zlib-gnu.so"

# A separate debug file, by link and by build-id, and MiniDebugInfo.
for n in gcc5 clang5; do
	objcopy --only-keep-debug "$work/$n.so" "$out/$n.debug"
	objcopy --strip-all "$work/$n.so" "$work/stripped.so"
	(cd "$out" && objcopy --add-gnu-debuglink=$n.debug "$work/stripped.so" $n-stripped.so)
	nm -D "$work/$n.so" --format=posix --defined-only | awk '{print $1}' | sort >"$work/dynamic"
	nm "$work/$n.so" --format=posix --defined-only | awk '$2=="T"||$2=="t"||$2=="W"{print $1}' | sort >"$work/functions"
	comm -13 "$work/dynamic" "$work/functions" >"$work/keep"
	objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$work/keep" "$out/$n.debug" "$work/mini"
	xz -9 -k -f "$work/mini"
	objcopy --add-section .gnu_debugdata="$work/mini.xz" "$work/stripped.so" "$out/$n-mini.so"
done

# dwz: a file whose duplicates went to an alternate file that it shares. dwz
# refuses what clang writes as DWARF 5.
for n in "gcc5 $gxx" "clang4 $clangxx"; do
	set -- $n
	n=$1
	shift
	cp "$work/$n.so" "$work/dwz1.so"
	both other "-gdwarf-${n#"${n%?}"} -DOTHER" "" "$@"
	cp "$work/other.so" "$work/dwz2.so"
	(cd "$work" && dwz -m $n-dwz.alt -M $n-dwz.alt dwz1.so dwz2.so)
	cp "$work/dwz1.so" "$out/$n-dwz.so"
	cp "$work/$n-dwz.alt" "$out/$n-dwz.alt"

	# The same as distributions pack it: stripped, with a debug file whose link
	# to the alternate file is a path of the system that it is installed on.
	cp "$work/$n.so" "$work/dwz1.so"
	cp "$work/other.so" "$work/dwz2.so"
	(cd "$work" && dwz -m again.alt -M /usr/lib/debug/.dwz/x86_64-linux-gnu/$n-dwz.alt dwz1.so dwz2.so)
	cmp "$work/again.alt" "$out/$n-dwz.alt"
	case $n in
	gcc*) objcopy --only-keep-debug "$work/dwz1.so" "$out/$n-dbgsym.debug" ;;
	*) eu-strip --remove-comment -f "$out/$n-dbgsym.debug" -o "$out/$n-dbgsym.so" "$work/dwz1.so" ;;
	esac
done

# Split units. The names of the .dwo files are relative to /src.
split() {
	name=$1 copts=$2
	shift 2
	cc=$(echo "$*" | sed 's/clang++-19/clang-19/;s/g++-12/gcc-12/;s/-std=c++14//;s/-fno-rtti//')
	mkdir -p "$work/$name"
	cp shapes.h main.cpp count.c "$work/$name"
	(
		cd "$work/$name"
		map="-ffile-prefix-map=$work/$name=/src -fdebug-prefix-map=$work/$name=/src"
		"$@" $map $copts -gsplit-dwarf -c main.cpp -o $name-main.o
		$cc $map $copts -gsplit-dwarf -c count.c -o $name-count.o
		"$@" $(linker "$1") $link $name-main.o $name-count.o -o $name.so
	)
	cp "$work/$name/$name.so" "$work/$name"/*.dwo "$out"
}
split gcc5-split -gdwarf-5 $gxx
split clang5-split -gdwarf-5 $clangxx
split gcc4-split "-gdwarf-4" $gxx
split clang4-split "-gdwarf-4" $clangxx

# The same as packages; the split units of these are not kept beside them.
for n in gcc5 clang5 clang4; do
	d=$work/$n-split
	cp "$d/$n-split.so" "$out/$n-dwp.so"
	(cd "$d" && llvm-dwp-19 $n-split-main.dwo $n-split-count.dwo -o "$out/$n-dwp.so.dwp")
done
# Debian's dwp writes packages of GNU's version 2.
(cd "$work/gcc4-split" && dwp gcc4-split-main.dwo gcc4-split-count.dwo -o "$out/gcc4-dwp.so.dwp")
cp "$work/gcc4-split/gcc4-split.so" "$out/gcc4-dwp.so"

# Other machines: 32 bits, big-endian, Thumb, and another form of stubs.
for t in i386-linux-gnu mips-linux-gnu s390x-linux-gnu armv7-linux-gnueabihf aarch64-linux-gnu; do
	for s in main.cpp count.c; do
		clang-19 --target=$t -O2 -gdwarf-5 $common -fno-addrsig -c $s -o "$work/$t.$s.o"
	done
	ld.lld-19 -shared --build-id=sha1 -z separate-loadable-segments -z max-page-size=4096 -z lazy \
		"$work/$t.main.cpp.o" "$work/$t.count.c.o" -o "$out/${t%%-*}.so"
done

# What is not linked yet: objects with sections for every template, and, as GCC
# and clang write them, addends in the relocations or in the sections.
for n in gcc5 clang5; do
	cp "$work/$n.main.o" "$out/$n.o"
done
objcopy --compress-debug-sections=zlib "$work/gcc5.main.o" "$out/gcc5-zlib.o"
cp "$work/clang5.count.o" "$out/count.o"
for t in i386-linux-gnu mips-linux-gnu s390x-linux-gnu armv7-linux-gnueabihf aarch64-linux-gnu; do
	cp "$work/$t.main.cpp.o" "$out/${t%%-*}.o"
done

# Windows: PE with DWARF, as MinGW makes it.
for m in x86_64 i686; do
	cc=$m-w64-mingw32-g++-win32
	$cc -std=c++14 -O2 -gdwarf-5 -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -ffile-prefix-map=$here=/src -DWINDOWS -c main.cpp -o "$work/$m.main.o"
	$m-w64-mingw32-gcc-win32 -O2 -gdwarf-5 -ffile-prefix-map=$here=/src -c count.c -o "$work/$m.count.o"
	echo 'extern "C" { int report(const char *, int n) { return n; } void fail(const char *) { for (;;); } int DllMainCRTStartup(void *, unsigned, void *) { return 1; } }
	void operator delete(void *, unsigned long long) {} void operator delete(void *, unsigned) {} extern "C" void __cxa_pure_virtual() {}' >"$work/rt.cpp"
	$cc -O2 -fno-exceptions -fno-rtti -fno-asynchronous-unwind-tables -w -c "$work/rt.cpp" -o "$work/$m.rt.o"
	entry=DllMainCRTStartup
	test $m = i686 && entry=_DllMainCRTStartup
	$cc -shared -nostdlib -Wl,--build-id -Wl,--no-insert-timestamp -Wl,-e,$entry "$work/$m.main.o" "$work/$m.count.o" "$work/$m.rt.o" -o "$out/$m.dll"
done

if grep -laE "$here|$work|/tmp/|/root/|/home/" "$out"/*.so "$out"/*.dwo "$out"/*.dwp "$out"/*.dll "$out"/*.alt "$out"/*.debug "$out"/*.o; then
	echo "the files above name a path of this machine" >&2
	exit 1
fi
