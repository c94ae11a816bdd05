; Labels as assembler code for nasm has them: functions without sizes, with
; local labels and labels of macros inside.
default rel
section .text align=16

%macro ROUND 1
	cmp edi, %1
	jb %%non_prefetch
	prefetcht0 [rsi]
%%non_prefetch:
	add rsi, %1
%endmacro

global filter:function hidden
filter:
	xor eax, eax
.loop:
	ROUND 16
	dec ecx
	jnz .loop
one_shot:
	ret

align 16
global exported:function
exported:
	ROUND 32
	ret

global measured:function (measured_end - measured)
measured:
	nop
inside:
	ret
measured_end:

align 16
global untyped
untyped:
	nop
behind:
	ret
