# Two names for one function, of which only one has a size, and an entry
# without a size in a function that has one. Padding follows each.
	.text
	.p2align 4
	.globl	long_name
	.type	long_name, @function
	.type	short_name, @function
long_name:
short_name:
	nop
	nop
	ret
	.size	short_name, .-short_name
	.p2align 4
	.type	outer, @function
outer:
	nop
	.type	entry, @function
entry:
	nop
	ret
	.size	outer, .-outer
	.p2align 4
	.globl	last
	.type	last, @function
last:
	nop
.inner:	ret
