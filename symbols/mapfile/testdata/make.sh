#!/bin/sh
# Makes the maps in this folder and, beside each, what the image's own symbol
# table says: one function a line, its RVA, nm's letter for its kind (small for
# static ones) and its name. Needs clang-19, lld-19, llvm-19, GNU binutils with
# gold, mold and the MinGW compilers.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp sample.cpp plain.c "$work"
cd "$work"

# golden NAME IMAGE BASE: the functions of an image, base in hexadecimal.
golden() {
	llvm-nm-19 --defined-only --numeric-sort "$2" |
		awk -v base="$3" '
			function number(s,  i, v) {
				for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", tolower(substr(s, i, 1))) - 1
				return v
			}
			$2 ~ /^[tTwW]$/ && $3 !~ /^\.|etext$|TOR_LIST__$/ { printf "%x %s %s\n", number($1) - number(base), $2, $3 }' >"$here/$1.golden"
}

compile() { # compiler, suffix, options…
	cc=$1 suffix=$2
	shift 2
	for source in sample.cpp plain.c; do
		language='-x c'
		[ $source = plain.c ] || language='-x c++ -fno-rtti'
		$cc "$@" -O1 -fno-exceptions $language -fno-asynchronous-unwind-tables -c $source -o "${source%.*}$suffix"
	done
}

# Windows, LLVM. The images keep a symbol table for the comparison.
for target in x86_64 i686; do
	compile "clang-19 --target=$target-pc-windows-msvc" .obj -ffunction-sections -mno-stack-arg-probe
	base=140000000
	[ $target = x86_64 ] || base=400000
	lld-link-19 /nodefaultlib /entry:entry /subsystem:console /debug:symtab /timestamp:1700000000 /opt:icf \
		/safeseh:no /out:image.exe "/map:$here/lld-link-$target.map" "/lldmap:$here/lld-link-$target.lldmap" \
		sample.obj plain.obj
	golden "lld-link-$target" image.exe $base
done

# Windows, GNU.
for target in x86_64 i686; do
	compile $target-w64-mingw32-g++ .o -fno-ident
	base=140000000 entry=entry
	[ $target = x86_64 ] || { base=400000 entry=_entry; }
	$target-w64-mingw32-ld -e $entry --no-insert-timestamp --image-base 0x$base -o image.exe -Map="$here/mingw-$target.map" sample.o plain.o
	golden "mingw-$target" image.exe $base
done

# ELF. -ffunction-sections shows the names of static functions to linkers that
# do not list them; the variant "-joined" does without.
compile "clang-19 --target=x86_64-linux-gnu" .o -ffunction-sections -fno-pic
elf() { # name, linker, options…
	name=$1 linker=$2
	shift 2
	$linker "$@" -e entry -o image -Map="$here/$name.map" sample.o plain.o
	base=$(llvm-readelf-19 -lW image | awk '$1 == "LOAD" { print substr($3, 3); exit }')
	golden "$name" image "$base"
}
elf bfd ld.bfd -static --gc-sections
elf gold ld.gold -static --gc-sections
elf lld ld.lld-19 -static --gc-sections
elf mold mold -static --gc-sections
elf bfd-mangled ld.bfd -static --no-demangle
elf lld-mangled ld.lld-19 -static --no-demangle
compile "clang-19 --target=x86_64-linux-gnu" .o -fPIC
elf bfd-joined ld.bfd -static
elf lld-pie ld.lld-19 -pie
elf mold-pie mold -pie
elf bfd-shared ld.bfd -shared
