package trace

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"logparser/parser"
)

// loops says that the processor has what the loops in assembly need. It is a variable for tests.
var loops = cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// passRecords passes short records from offset p on, up to offset last, or to one that is another's to pass: one that is not short, or a leave
// where no call is open.
//
//go:noescape
func passRecords(l *passLoop)

// readThread reads short records from offset p on, up to offset last, or to one that is another's to read: one that is not short, an enter that
// the cache does not have, or a leave where no call is open.
//
//go:noescape
func readThread(l *threadLoop)

// readCalls reads short records from offset p on, up to offset last, to the one with which the calls are full, or to one that
// is another's to read: a record that is not short, an enter that the cache does not have, a time that is not below limit, or the leave
// of a call that is not above the base. New is true of the frames that it leaves.
//
//go:noescape
func readCalls(l *callLoop)

// Where fields are, for the loops: those of threadFrame, parser.ThreadCall, cachedEnter, parser.OpenFrame, parser.Call and cachedCall.
const (
	frameNumber  = unsafe.Offsetof(threadFrame{}.number)
	frameCounted = unsafe.Offsetof(threadFrame{}.counted)
	frameAddress = unsafe.Offsetof(threadFrame{}.address)

	endedEnter   = unsafe.Offsetof(parser.ThreadCall{}.Enter)
	endedLeave   = unsafe.Offsetof(parser.ThreadCall{}.Leave)
	endedDepth   = unsafe.Offsetof(parser.ThreadCall{}.Depth)
	endedAddress = unsafe.Offsetof(parser.ThreadCall{}.Address)

	enterAddress = unsafe.Offsetof(cachedEnter{}.address)

	openEnter    = unsafe.Offsetof(parser.OpenFrame{}.Enter)
	openChildren = unsafe.Offsetof(parser.OpenFrame{}.Children)
	openID       = unsafe.Offsetof(parser.OpenFrame{}.ID)
	openGroup    = unsafe.Offsetof(parser.OpenFrame{}.Group)
	openMarks    = unsafe.Offsetof(parser.OpenFrame{}.Marks)
	openSize     = unsafe.Sizeof(parser.OpenFrame{})

	callEnter    = unsafe.Offsetof(parser.Call{}.Enter)
	callDuration = unsafe.Offsetof(parser.Call{}.Duration)
	callSelf     = unsafe.Offsetof(parser.Call{}.Self)
	callID       = unsafe.Offsetof(parser.Call{}.ID)
	callDepth    = unsafe.Offsetof(parser.Call{}.Depth)
	callMarks    = unsafe.Offsetof(parser.Call{}.Marks)
	callSize     = unsafe.Sizeof(parser.Call{})

	cachedID    = unsafe.Offsetof(cachedCall{}.id)
	cachedGroup = unsafe.Offsetof(cachedCall{}.group)
	cachedMarks = unsafe.Offsetof(cachedCall{}.marks)
)

// What the loops take for granted: sizes, and what lies side by side. An index that is not 0 does not compile.
var _ = [...]struct{}{
	[1]struct{}{}[unsafe.Sizeof(threadFrame{})-16],
	[1]struct{}{}[unsafe.Offsetof(threadFrame{}.recursive)-frameAddress-2],
	[1]struct{}{}[unsafe.Sizeof(parser.ThreadCall{})-16],
	[1]struct{}{}[unsafe.Offsetof(parser.ThreadCall{}.Recursive)-endedAddress-2],
	[1]struct{}{}[unsafe.Sizeof(cachedEnter{})-8],
	[1]struct{}{}[unsafe.Offsetof(cachedEnter{}.record)],
	[1]struct{}{}[enterAddress-4],

	[1]struct{}{}[openSize-32],
	[1]struct{}{}[unsafe.Offsetof(parser.OpenFrame{}.Number)-openID-8],
	[1]struct{}{}[openMarks-openID-12],
	[1]struct{}{}[unsafe.Offsetof(parser.OpenFrame{}.Recursive)-openMarks-1],
	[1]struct{}{}[unsafe.Offsetof(parser.OpenFrame{}.New)-openMarks-2],
	[1]struct{}{}[unsafe.Sizeof(cachedCall{})-32],
	[1]struct{}{}[unsafe.Offsetof(cachedCall{}.record)],
	[1]struct{}{}[unsafe.Offsetof(cachedCall{}.number)-cachedID-8],
	[1]struct{}{}[cachedMarks-cachedID-12],
	[1]struct{}{}[callSize-40],
	[1]struct{}{}[unsafe.Offsetof(parser.Call{}.Recursive)-callMarks-1],
}
