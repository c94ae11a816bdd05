# print_hello takes its text in r8 and its length in r9, as in the old document's hello.asm.
	.globl _start, print_hello
	.type print_hello,@function
print_hello:
	mov $1,%eax
	mov $1,%edi
	mov %r8,%rsi
	mov %r9,%rdx
	syscall
	ret
	.size print_hello,.-print_hello
	.type _start,@function
_start:
	lea text(%rip),%r8
	mov $14,%r9
	call print_hello
	mov $60,%eax
	xor %edi,%edi
	syscall
	.size _start,.-_start
	.data
text:	.asciz "hello, world!\n"
