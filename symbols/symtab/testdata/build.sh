#!/bin/sh
# Builds the files of this folder from labels.asm, twins.s and calls.c. It needs
# nasm, Debian 12's binutils, gcc-powerpc64-linux-gnu and
# gcc-arm-linux-gnueabihf.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C

link="-shared --hash-style=gnu -z noseparate-code"
nasm -f elf64 labels.asm -o "$work/labels.o"
as twins.s -o "$work/twins.o"
for n in labels twins; do
	ld $link "$work/$n.o" -o $n.so
done

# PowerPC's first ABI, whose functions have descriptors, as a library and as an
# object; and stubs of ARM, short ones, long ones and those for Thumb code.
ppc="powerpc64-linux-gnu-gcc -mabi=elfv1 -O2 -fPIC -fno-asynchronous-unwind-tables -fno-ident"
$ppc -shared -nostdlib -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 calls.c -o opd.so
$ppc -c calls.c -o opd.o
arm="arm-linux-gnueabihf-gcc -O2 -fPIC -fno-ident -shared -nostdlib -Wl,-z,noseparate-code"
$arm calls.c -o arm-plt.so
$arm -Wl,--long-plt calls.c -o arm-long-plt.so
