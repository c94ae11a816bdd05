#include "go_asm.h"
#include "textflag.h"

// Loops over short records without a branch on the kind of a record: whether the next one is an enter or a leave, and whether a call makes
// others, processors cannot guess in most programs. For each record a loop does what either kind needs, where what is of the other kind has no
// effect: an enter's frame is written above the top of the stack, and the call that a leave ends behind those that have ended. That pays
// only if nearly all values of a loop are in registers, which compilers do not achieve.
//
// They end where something else has to read on, and then have changed nothing for the record that they are at. Stacks, and the calls that have
// ended, have room for one more than the records may bring.

// func passRecords(l *passLoop)
//
//	SI the record's address    AX its first 8 bytes    R8 the time of the record before
//	DX open calls              CX the fewest of them   R9 records
TEXT ·passRecords(SB), NOSPLIT, $0-8
	MOVQ l+0(FP), R13
	MOVQ passLoop_buffer(R13), DI
	MOVQ passLoop_p(R13), SI
	ADDQ DI, SI
	MOVQ passLoop_last(R13), R11
	ADDQ DI, R11
	MOVQ passLoop_time(R13), R8
	MOVQ passLoop_open(R13), DX
	MOVQ DX, CX
	MOVQ passLoop_records(R13), R9
	MOVQ passLoop_known(R13), R12
	CMPQ SI, R11
	JAE  done
	MOVQ (SI), AX

loop:
	BTL  AX, R12
	JCC  done
	MOVL AX, BX
	ANDL $1, BX
	CMPQ DX, BX
	JCS  done
	MOVL AX, (R9)(DX*4)

	// The delta, wire.LeaveDelta or wire.EnterDelta, and the next record. That one is loaded for both cases before it is
	// known which it is, because each would wait for the one before otherwise.
	MOVWLZX AX, R15
	SHRL    $1, R15
	SHRQ    $32, AX
	MOVWLZX AX, R14
	MOVQ    6(SI), AX
	TESTL   BX, BX
	CMOVQNE 2(SI), AX
	CMOVLNE R15, R14
	ADDQ    R14, R8

	NEGQ    BX
	LEAQ    6(SI)(BX*4), SI
	LEAQ    1(DX)(BX*2), DX
	CMPQ    DX, CX
	CMOVQLT DX, CX
	CMPQ    SI, R11
	JB      loop

done:
	SUBQ DI, SI
	MOVQ SI, passLoop_p(R13)
	MOVQ R8, passLoop_time(R13)
	MOVQ DX, passLoop_open(R13)
	MOVQ CX, passLoop_least(R13)
	RET

// func readThread(l *threadLoop)
//
// Of these values all records need:
//	SI  the record's address     AX its first 8 bytes
//	R9  the time of the record before
//	R10 where its time goes      R11 the number of its event
//	DX  open calls               DI  the frame of the next one
//	R8  the call to write        R13 l
// and of each record
//	BX  -1 for a leave, 0 for an enter
//	R14 the element of the cache, the first for a leave
TEXT ·readThread(SB), NOSPLIT, $0-8
	MOVQ l+0(FP), R13
	MOVQ threadLoop_buffer(R13), AX
	ADDQ AX, threadLoop_last(R13)
	MOVQ threadLoop_p(R13), SI
	ADDQ AX, SI
	MOVQ threadLoop_time(R13), R9
	MOVQ threadLoop_events(R13), R11
	MOVQ threadLoop_times(R13), R10
	LEAQ (R10)(R11*8), R10
	ADDL threadLoop_number(R13), R11
	MOVQ threadLoop_open(R13), DX
	MOVQ DX, DI
	SHLQ $4, DI
	ADDQ threadLoop_frames(R13), DI
	MOVQ threadLoop_left(R13), R8
	SHLQ $4, R8
	ADDQ threadLoop_ended(R13), R8
	CMPQ SI, threadLoop_last(R13)
	JAE  done
	MOVQ (SI), AX

loop:
	MOVL AX, BX
	ANDL $1, BX
	NEGQ BX

	// An enter has to be in the cache, at its place or at the neighbour's.
	IMUL3L $0x9e3779b1, AX, R14
	SHRL   $(32-const_cacheBits), R14
	ANDNL  R14, BX, R14
	SHLQ   $3, R14
	ADDQ   threadLoop_cache(R13), R14
	MOVL   (R14), R12
	XORL   AX, R12
	ANDNL  R12, BX, R12
	JNE    second

known:
	// The frame that a leave ends.
	MOVQ BX, CX
	SHLQ $4, CX
	ADDQ DI, CX
	CMPQ CX, threadLoop_frames(R13)
	JCS  done
	LEAQ (DX)(BX*1), R12

	// The delta, wire.LeaveDelta or wire.EnterDelta, and the next record, see passRecords.
	MOVWLZX AX, R15
	SHRL    $1, R15
	SHRQ    $32, AX
	MOVWLZX AX, AX
	TESTL   BX, BX
	CMOVLEQ AX, R15
	MOVQ    6(SI), AX
	CMOVQNE 2(SI), AX
	LEAQ    6(SI)(BX*4), SI
	ADDQ    R15, R9
	MOVQ    R9, (R10)
	ADDQ    $8, R10

	// The call that ends, if one does.
	MOVL const_frameNumber(CX), R15
	MOVL R15, const_endedEnter(R8)
	MOVL R11, const_endedLeave(R8)
	MOVL R12, const_endedDepth(R8)
	MOVL const_frameAddress(CX), R15
	MOVL R15, const_endedAddress(R8)

	// How many calls of its address are open that are counted. Bit 16 of R15 says whether one was.
	MOVL    const_frameCounted(CX), R12
	NEGL    R12
	MOVWLZX R15, R15
	MOVWLZX const_enterAddress(R14), R14
	TESTL   BX, BX
	CMOVLEQ R14, R15
	CMOVLEQ threadLoop_one(R13), R12
	MOVQ    threadLoop_counts(R13), CX
	LEAQ    (CX)(R15*4), CX
	MOVL    (CX), R15
	ADDL    R15, R12
	MOVL    R12, (CX)
	NEGL    R15
	SHRL    $15, R15
	ANDL    $0x10000, R15

	// The frame of the call that begins, if one does.
	ORL  R14, R15
	MOVL R11, const_frameNumber(DI)
	MOVL $1, const_frameCounted(DI)
	MOVL R15, const_frameAddress(DI)

	INCL R11
	LEAQ 1(DX)(BX*2), DX
	SHLQ $4, BX
	SUBQ BX, R8
	LEAQ 16(DI)(BX*2), DI
	CMPQ SI, threadLoop_last(R13)
	JB   loop
	JMP  done

second:
	TESTL AX, AX // padding, which is like an empty element
	JEQ   done
	SUBQ  threadLoop_cache(R13), R14
	XORQ  $8, R14
	ADDQ  threadLoop_cache(R13), R14
	MOVL  (R14), R12
	CMPL  R12, AX
	JEQ   known

done:
	MOVQ threadLoop_buffer(R13), AX
	SUBQ AX, threadLoop_last(R13)
	SUBQ AX, SI
	MOVQ SI, threadLoop_p(R13)
	MOVQ R9, threadLoop_time(R13)
	SUBL threadLoop_number(R13), R11
	MOVQ R11, threadLoop_events(R13)
	MOVQ DX, threadLoop_open(R13)
	SUBQ threadLoop_ended(R13), R8
	SHRQ $4, R8
	MOVQ R8, threadLoop_left(R13)
	RET

// func readCalls(l *callLoop)
//
// Of these values all records need:
//	SI  the record           DI  the frame on the top of the stack
//	R8  the call to write    R9  the time of the record before
//	DX  rate                 R13 l
// and of each record
//	BX  -1 for a leave, 0 for an enter; CX  BX times the size of a frame
//	R12 the element of the cache, the first for a leave
TEXT ·readCalls(SB), NOSPLIT, $0-8
	MOVQ l+0(FP), R13
	MOVQ callLoop_buffer(R13), AX
	ADDQ AX, callLoop_last(R13)
	MOVQ callLoop_p(R13), SI
	ADDQ AX, SI
	MOVQ callLoop_frames(R13), AX
	ADDQ AX, callLoop_base(R13)
	MOVQ callLoop_top(R13), DI
	ADDQ AX, DI
	MOVQ callLoop_calls(R13), AX
	ADDQ AX, callLoop_full(R13)
	MOVQ callLoop_call(R13), R8
	ADDQ AX, R8
	ADDQ $const_openSize, callLoop_frames(R13)
	MOVQ callLoop_time(R13), R9
	MOVQ callLoop_rate(R13), DX

loop:
	CMPQ SI, callLoop_last(R13)
	JAE  done
	MOVL (SI), AX
	MOVL AX, BX
	ANDL $1, BX
	NEGQ BX

	// The delta, wire.LeaveDelta or wire.EnterDelta.
	MOVWLZX AX, R10
	SHRL    $1, R10
	MOVWLZX 4(SI), R15
	TESTL   BX, BX
	CMOVLNE R10, R15

	// The element of the cache, callReader.entry. An enter has to be in it.
	IMUL3L $0x9e3779b1, AX, R12
	SHRL   $(32-const_callCacheBits-5), R12
	ANDL   $(((1<<const_callCacheBits)-1)<<5), R12
	ANDNL  R12, BX, R12
	ADDQ   callLoop_cache(R13), R12
	MOVL   (R12), R10
	XORL   AX, R10
	ANDNL  R10, BX, R10
	JNE    done

	// The frame whose children a leave adds to: the caller's.
	MOVQ BX, CX
	SHLQ $5, CX
	LEAQ (DI)(CX*1), R11
	CMPQ R11, callLoop_base(R13)
	JB   done
	ADDQ R15, R9
	CMPQ R9, callLoop_limit(R13)
	JAE  undo
	LEAQ 6(SI)(BX*4), SI

	// R15 is the time in nanoseconds, segment.linear.
	MOVQ  callLoop_up(R13), R14
	SHLXQ R14, R9, R15
	MULXQ R15, R14, R15
	ADDQ  callLoop_zero(R13), R15

	// The call that ends, if one does.
	MOVQ    const_openEnter(DI), R14
	MOVQ    R14, const_callEnter(R8)
	MOVQ    R15, AX
	SUBQ    R14, AX
	MOVQ    AX, const_callDuration(R8)
	XORL    R10, R10
	MOVQ    AX, R14
	SUBQ    const_openChildren(DI), R14
	CMOVQLT R10, R14
	MOVQ    R14, const_callSelf(R8)
	ANDQ    BX, AX
	ADDQ    AX, const_openChildren(R11)
	MOVL    const_openID(DI), R14
	MOVL    R14, const_callID(R8)
	MOVQ    DI, AX
	SUBQ    callLoop_frames(R13), AX
	SHRQ    $5, AX
	MOVL    AX, const_callDepth(R8)

	// How many calls of its group are open. Bit 8 of AX says whether one was.
	MOVL    const_openGroup(DI), R14
	TESTL   BX, BX
	CMOVLEQ const_cachedGroup(R12), R14
	INCL    R14
	MOVQ    callLoop_open(R13), R11
	MOVL    (R11)(R14*4), AX
	LEAL    1(AX)(BX*2), R10
	MOVL    R10, (R11)(R14*4)
	NEGL    AX
	SHRL    $23, AX
	ANDL    $0x100, AX

	// The frame of the call that begins, if one does: marks, recursive and new at once.
	MOVWLZX const_openMarks(DI), R14
	MOVW    R14, const_callMarks(R8)
	MOVBLZX R14, R14
	ORB     const_cachedMarks(R12), R14
	LEAL    0x10000(AX)(R14*1), AX
	MOVOU   const_cachedID(R12), X0
	MOVOU   X0, (const_openSize+const_openID)(DI)
	MOVL    AX, (const_openSize+const_openMarks)(DI)
	MOVQ    R15, (const_openSize+const_openEnter)(DI)
	MOVQ    $0, (const_openSize+const_openChildren)(DI)

	LEAQ const_openSize(DI)(CX*2), DI
	ANDL $const_callSize, BX
	ADDQ BX, R8
	CMPQ R8, callLoop_full(R13)
	JB   loop
	JMP  done

undo:
	SUBQ R15, R9

done:
	MOVQ R9, callLoop_time(R13)
	MOVQ callLoop_calls(R13), AX
	SUBQ AX, callLoop_full(R13)
	SUBQ AX, R8
	MOVQ R8, callLoop_call(R13)
	SUBQ $const_openSize, callLoop_frames(R13)
	MOVQ callLoop_frames(R13), AX
	SUBQ AX, callLoop_base(R13)
	SUBQ AX, DI
	MOVQ DI, callLoop_top(R13)
	MOVQ callLoop_buffer(R13), AX
	SUBQ AX, callLoop_last(R13)
	SUBQ AX, SI
	MOVQ SI, callLoop_p(R13)
	RET
