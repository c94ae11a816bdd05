#!/bin/bash
# symbolizers.sh compares "logparse resolve" with llvm-symbolizer and addr2line
# on PDB and DWARF files, side by side, and prints the ratios.
#
#	scripts/bench/symbolizers.sh
#
# The files: PDBs of the conformance data, one of 300 MB that clang-cl and
# lld-link make, libstdc++ of MinGW, and Debian's ceph-osd with its debug
# information, which apt-get downloads (650 MB; it is unpacked and not
# installed). What is made and downloaded is kept in build/bench. What cannot
# be had is left out, and that is said.
#
# From the environment:
#	BENCH_RUNS           how often each program runs (3)
#	BENCH_RESOLVE_FLAGS  flags to add to "logparse resolve"
#	BENCH_CEPH           a folder with the prepared programs: full, whose debug
#	                     sections are compressed, and dec, whose are not;
#	                     "no" leaves that comparison out
set -u
cd "$(dirname "$0")/../.."
. scripts/toolchains.sh

dir=$PWD/build/bench
mkdir -p "$dir"
export CGO_ENABLED=0 LC_ALL=C.UTF-8
args=(-dir "$dir" -runs "${BENCH_RUNS:-3}" -resolve-flags "${BENCH_RESOLVE_FLAGS:-}")

go build -trimpath -ldflags "-s -w" -o "$dir/logparse" ./cmd/logparse || exit 1
go build -o "$dir/bench" ./scripts/bench || exit 1
args+=(-logparse "$dir/logparse")

say() { echo "left out: $*"; }

llvm=$(llvm_symbolizer)
if [ -n "$llvm" ]; then
	args+=(-llvm "$llvm")
	echo "$("$llvm" --version | sed -n 's/.*LLVM version */LLVM /p' | head -n 1), $(addr2line --version 2>/dev/null | head -n 1)"
else
	say "llvm-symbolizer, which is not here"
fi
command -v addr2line >/dev/null && args+=(-addr2line addr2line)
command -v x86_64-w64-mingw32-addr2line >/dev/null && args+=(-addr2line-pe x86_64-w64-mingw32-addr2line)

# PDBs. Programs that read an image's PDB look for it beside the image.
data=../shared/data/pdb
if [ -e $data/registry.pdb ] && [ -e $data/dump_syms_regtest64.pdb ]; then
	cp -f $data/registry.node $data/registry.pdb $data/dump_syms_regtest64.exe $data/dump_syms_regtest64.pdb "$dir"
	args+=(-pdb "$dir/registry.node,$dir/dump_syms_regtest64.exe")
else
	say "PDBs of the conformance data, which is absent"
fi
if [ ! -e "$dir/big.pdb" ] || [ ! -e "$dir/big.exe" ]; then
	v=$(clang_version)
	if [ -z "$v" ] || ! LLVM=-$v symbols/pdb/testdata/makebig.sh "$dir/big.pdb" >"$dir/makebig.log" 2>&1; then
		say "the PDB of 300 MB; it needs clang-cl and lld-link"
		[ ! -s "$dir/makebig.log" ] || tail -n 5 "$dir/makebig.log"
	fi
fi
[ ! -e "$dir/big.exe" ] || args+=(-bigpdb "$dir/big.exe")

# DWARF in a PE.
pe=$(x86_64-w64-mingw32-g++ -print-file-name=libstdc++-6.dll 2>/dev/null)
if [ -f "${pe:-}" ]; then
	args+=(-pe "$pe")
else
	say "DWARF in a PE; it needs MinGW's libstdc++-6.dll"
fi

# prepare_ceph leaves full and dec in $dir/ceph.
prepare_ceph() {
	local free c=$dir/ceph build_id debug p
	for p in apt-get dpkg-deb eu-unstrip objcopy; do
		command -v $p >/dev/null || { say "ceph-osd; it needs $p" && return 1; }
	done
	free=$(df -Pm "$dir" | awk 'NR == 2 { print $4 }')
	[ "${free:-0}" -gt 4000 ] || { say "ceph-osd; it needs 4 GB of disk" && return 1; }
	mkdir -p "$c"
	if ! (cd "$c" && apt-get -q download ceph-osd ceph-osd-dbg) >"$c/log" 2>&1; then
		say "ceph-osd; apt-get cannot download ceph-osd and ceph-osd-dbg here: $(grep -m 1 '^E:' "$c/log")"
		return 1
	fi
	for p in "$c"/*.deb; do
		dpkg-deb -x "$p" "$c/root" || return 1
		rm -f "$p"
	done
	build_id=$(readelf -n "$c/root/usr/bin/ceph-osd" | sed -n 's/.*Build ID: *//p')
	debug=$c/root/usr/lib/debug/.build-id/${build_id:0:2}/${build_id:2}.debug
	[ -n "$build_id" ] && [ -e "$debug" ] || { say "ceph-osd; its packages do not belong together" && return 1; }
	eu-unstrip -o "$c/full" "$c/root/usr/bin/ceph-osd" "$debug" &&
		objcopy --decompress-debug-sections "$c/full" "$c/dec" || return 1
	rm -rf "$c/root"
}
ceph=${BENCH_CEPH:-$dir/ceph}
if [ "$ceph" != no ]; then
	if [ ! -e "$ceph/dec" ] || [ ! -e "$ceph/full" ]; then
		[ -n "${BENCH_CEPH:-}" ] || prepare_ceph
	fi
	if [ -e "$ceph/dec" ] && [ -e "$ceph/full" ]; then
		args+=(-dwarf "$ceph/dec" -compressed "$ceph/full")
	else
		say "the large DWARF"
	fi
fi

"$dir/bench" "${args[@]}"
