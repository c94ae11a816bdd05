#!/bin/bash
# hello-and-sum.sh makes hello-and-sum.txt again, as root: a program in assembler whose function takes a text and its
# length in r8 and r9, and a function of eight numbers, two of which come on the stack, and its result.
set -eu
cd "$(dirname "$0")"
tracing=/sys/kernel/tracing
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
gcc -nostdlib -static -o "$dir/hello" hello.S
gcc -O1 -no-pie -o "$dir/sum" sum.c

# offset FILE FUNCTION: where it lies in the file.
offset() {
	local at
	at=$((0x$(nm "$1" | awk -v f="$2" '$3 == f { print $1 }')))
	readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }' | while read -r from to size; do
		if ((at >= to && at < to + size)); then printf '0x%x\n' $((at - to + from)); fi
	done
}
{
	echo "p:lp/print_hello $dir/hello:$(offset "$dir/hello" print_hello) p=%r8:x64 s=+0(%r8):string n=%r9:u64"
	echo "p:lp/sum $dir/sum:$(offset "$dir/sum" sum) a=%di:s32 b=%si:s32 c=%dx:s32 d=%cx:s32 e=%r8:s32 f=%r9:s32 g=+8(%sp):s32 h=+16(%sp):s32"
	echo "r:lp/sum__return $dir/sum:$(offset "$dir/sum" sum) r=\$retval:s32"
} >$tracing/uprobe_events
echo mono >$tracing/trace_clock
echo >$tracing/trace
echo 1 >$tracing/events/lp/enable
"$dir/hello"
"$dir/sum"
echo 0 >$tracing/events/lp/enable
cat $tracing/trace >hello-and-sum.txt
echo >$tracing/uprobe_events
echo local >$tracing/trace_clock
