package parser

import (
	"fmt"

	"logparser/message"
)

// A CrashKind says how a crash was noticed.
type CrashKind uint32

// The kinds of crashes. Code is a signal's number of the first, the system's exception code of the
// second, and 0 of the others.
const (
	SignalCrash CrashKind = iota + 1
	ExceptionCrash
	AbortCrash     // abort was called
	TerminateCrash // terminate of C++ was called: Detail is 0 if nobody caught an exception
	PureCallCrash  // a pure virtual function was called
	ParameterCrash // the C library was called with an invalid parameter
)

// An Access is what an instruction wanted of an address.
type Access uint32

// What an instruction may want.
const (
	UnknownAccess Access = iota
	ReadAccess
	WriteAccess
	ExecuteAccess
)

// A Machine is a processor's architecture, by ELF's number (e_machine).
type Machine uint16

// The machines whose registers are known.
const (
	X86    Machine = 3
	X86_64 Machine = 62
	ARM64  Machine = 183
)

// Memory is a part of the program's memory.
type Memory struct {
	Address uint64
	Bytes   []byte
}

// A Crash is what the recorder wrote when the program crashed. All that it has of the program is
// shared: do not change it.
type Crash struct {
	Time   int64  // nanoseconds of the log's clock
	Thread uint32 // the system's thread id
	Name   string // of the thread
	// Process is an index into what [ProcessTeller] lists.
	Process int
	// Space is one of Log.Spaces, in which IP is an entry's.
	Space uint16

	Kind CrashKind
	Code uint32
	// Detail is si_code of a signal, the flags of an exception.
	Detail int32
	// Address is what the instruction asked for, if AddressKnown, and Access how.
	Address      uint64
	AddressKnown bool
	Access       Access
	// Sender is the pid of the process that sent the signal, 0 where it was none.
	Sender uint32
	// Error is errno, or the thread's last error on Windows, if not 0.
	Error uint32

	// InRecorder: the recorder's own code was running. Handled: a handler of the program's own
	// came next, so that the program may have gone on. ReturnIP: IP is behind the instruction.
	InRecorder, Handled, ReturnIP bool

	Windows     bool
	Machine     Machine
	PointerSize int
	// Registers are in the order of docs/formats.md, nil where they are not known; then IP and
	// SP are 0.
	Registers []uint64
	IP, SP    uint64
	// Stack is the part from SP on (from below it, where the code may use that), and the one at which
	// the stack begins, if the first does not reach it. Instructions is the code from 16 bytes before IP on.
	// Memory is what registers point to.
	Stack        []Memory
	Instructions Memory
	Memory       []Memory
	// Maps is what the system says of the process's mappings, as in /proc/self/maps: not all of it.
	Maps string
	// Message is what the C library said before it aborted.
	Message string
}

// A CrashTeller is a log that may tell of crashes of its program.
type CrashTeller interface {
	// Crashes returns those of a run, in order of time.
	Crashes(run int) []Crash
}

var signalNames = map[uint32]string{4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 11: "SIGSEGV", 31: "SIGSYS"}

// exceptionNames are those of Windows, without EXCEPTION_ or STATUS_.
var exceptionNames = map[uint32]string{
	0xc0000005: "ACCESS_VIOLATION", 0xc0000006: "IN_PAGE_ERROR", 0xc0000008: "INVALID_HANDLE", 0xc000001d: "ILLEGAL_INSTRUCTION",
	0xc0000025: "NONCONTINUABLE_EXCEPTION", 0xc000008c: "ARRAY_BOUNDS_EXCEEDED", 0xc000008d: "FLT_DENORMAL_OPERAND",
	0xc000008e: "FLT_DIVIDE_BY_ZERO", 0xc000008f: "FLT_INEXACT_RESULT", 0xc0000090: "FLT_INVALID_OPERATION", 0xc0000091: "FLT_OVERFLOW",
	0xc0000092: "FLT_STACK_CHECK", 0xc0000093: "FLT_UNDERFLOW", 0xc0000094: "INT_DIVIDE_BY_ZERO", 0xc0000095: "INT_OVERFLOW",
	0xc0000096: "PRIV_INSTRUCTION", 0xc00000fd: "STACK_OVERFLOW", 0xc0000374: "HEAP_CORRUPTION", 0xc0000409: "FAST_FAIL",
	0xc0000417: "INVALID_CRUNTIME_PARAMETER", 0xc0000420: "ASSERTION_FAILURE", 0x80000001: "GUARD_PAGE", 0x80000002: "DATATYPE_MISALIGNMENT",
	0x80000003: "BREAKPOINT", 0xe06d7363: "C++ exception (MSVC)", 0x20474343: "C++ exception (gcc)", 0xe0434352: ".NET exception",
}

// Cause says how the program crashed: the signal's or the exception's name.
func (c *Crash) Cause() message.Text {
	switch c.Kind {
	case SignalCrash:
		if name := signalNames[c.Code]; name != "" {
			return message.Textf("signal %d, %s", c.Code, name)
		}
		return message.Textf("signal %d", c.Code)
	case ExceptionCrash:
		if name := exceptionNames[c.Code]; name != "" {
			return message.Textf("exception %s, %s", fmt.Sprintf("%08X", c.Code), name)
		}
		return message.Textf("exception %s", fmt.Sprintf("%08X", c.Code))
	case AbortCrash:
		return message.Textf("a call of abort")
	case TerminateCrash:
		if c.Detail != 0 {
			return message.Textf("a call of terminate")
		}
		return message.Textf("a C++ exception that nobody caught")
	case PureCallCrash:
		return message.Textf("a call of a pure virtual function")
	case ParameterCrash:
		return message.Textf("an invalid parameter for the C library")
	}
	return message.Textf("a crash of kind %d, which this version does not know", uint32(c.Kind))
}
