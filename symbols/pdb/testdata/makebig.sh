#!/bin/sh
# Makes a large PDB for the benchmarks: makebig.sh FILE.pdb [COPIES], and its
# image beside it, FILE.exe, where other programs want that. The same
# object file, of 4,000 functions with inlined calls, is linked as often as
# said; 96 copies give some 300 MB. Needs clang-cl and lld-link (LLVM 19).
set -eu
out=$1
copies=${2:-96}
LLVM=${LLVM:--19}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk 'BEGIN {
	print "static volatile int sink;"
	print "template <int N> struct Box { int v; __forceinline int get(int a) const { sink = a; return v * N + sink; } };"
	for (i = 0; i < 4000; i++) {
		printf "namespace unit%d {\n", i % 50
		printf "static __forceinline int inner%d(int a) { sink = a + %d; return sink; }\n", i, i
		printf "static __declspec(noinline) __attribute__((used)) int function%d(int a, const char *text, Box<%d> *box) {\n", i, i % 200
		printf "  int first = inner%d(a);\n  int second = box->get(first);\n", i
		printf "  for (int i = 0; i < a; i++) {\n    sink = text[i];\n    second += inner%d(i);\n  }\n", i
		printf "  if (second > %d) second = box->get(second);\n  return first + second;\n}\n}\n", i
	}
}' >"$dir/unit.cpp"
echo 'extern "C" int start() { return 0; }' >"$dir/start.cpp"
cd "$dir"
for f in unit start; do
	clang-cl$LLVM --target=x86_64-pc-windows-msvc /c /Z7 /O1 /GS- /GR- /EHs-c- \
		-ffile-compilation-dir=C:/src -gno-codeview-command-line /Fo$f.obj $f.cpp
done
objects=start.obj
n=0
while [ $n -lt "$copies" ]; do
	cp unit.obj unit$n.obj
	objects="$objects unit$n.obj"
	n=$((n + 1))
done
lld-link$LLVM /nologo /nodefaultlib /subsystem:console /entry:start /debug /opt:noref,noicf /brepro \
	/pdbaltpath:%_PDB% /out:big.exe /pdb:big.pdb $objects
cd "$OLDPWD"
mv "$dir/big.exe" "${out%.pdb}.exe"
mv "$dir/big.pdb" "$out"
