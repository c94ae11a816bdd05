# toolchains.sh is read by the other scripts: which clang and LLVM they use.

# The version that the lanes were written with comes first, then the newer
# ones, then the older ones down to the first that writes usable PDB files.
clang_versions="19 20 21 22 18 17 16 15 14"

# clang_version prints the first version of which all the programs are here,
# and nothing where there is none.
clang_version() {
	local v
	for v in $clang_versions; do
		if command -v "clang++-$v" "lld-link-$v" "clang-cl-$v" "llvm-objcopy-$v" | grep -c . | grep -qx 4; then
			echo "$v"
			return
		fi
	done
}

# llvm_symbolizer prints the newest llvm-symbolizer of those that are here.
llvm_symbolizer() {
	local v
	for v in $(printf '%s\n' $clang_versions | sort -rn) ""; do
		if command -v "llvm-symbolizer${v:+-$v}" >/dev/null; then
			echo "llvm-symbolizer${v:+-$v}"
			return
		fi
	done
}

# cgo_compiler prints the C compiler for the window. The OpenGL bindings take
# gcc three minutes of processor time and clang half a minute (measured; why was
# not looked into).
cgo_compiler() {
	local v c
	v=$(clang_version)
	for c in "${CC:-}" "clang-${v:-none}" clang gcc cc; do
		if [ -n "$c" ] && command -v "${c%% *}" >/dev/null; then
			echo "$c"
			return
		fi
	done
	return 1
}
