#!/bin/sh
# Makes the PDBs of this folder again from shapes.cpp. Needs clang-cl and
# lld-link (LLVM 19). The same tools make the same bytes, wherever the folder
# lies.
set -eu
cd "$(dirname "$0")"
LLVM=${LLVM:--19}
for arch in x86_64 i686; do
	clang-cl$LLVM --target=$arch-pc-windows-msvc /c /Z7 /O2 /Gy /GS- /GR- /EHs-c- \
		-ffile-compilation-dir=C:/src -gno-codeview-command-line \
		/Foshapes.obj shapes.cpp
	lld-link$LLVM /nologo /nodefaultlib /subsystem:console /entry:start /debug /opt:icf,ref \
		/brepro /pdbsourcepath:C:/src /pdbaltpath:%_PDB% \
		/out:shapes-$arch.exe /pdb:shapes-$arch.pdb shapes.obj
	rm -f shapes.obj shapes-$arch.exe
done
