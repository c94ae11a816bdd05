package crash

import (
	"fmt"

	"logparser/message"
)

// A Mach is the exception of a Mach kernel (macOS, iOS) that ended a process. Its numbers have nothing to do with those of
// signals, whose place they take in minidumps.
type Mach struct {
	// Exception is its type, such as 1 for EXC_BAD_ACCESS, 0 where a process was ended by none.
	Exception uint32
	// Code and Subcode say more. What they mean depends on the type, and sometimes on the machine.
	Code, Subcode uint64
	// ARM says that the machine is one of ARM, where some codes mean something else.
	ARM bool
}

// Exceptions of Mach.
const (
	machBadAccess      = 1
	machBadInstruction = 2
	machArithmetic     = 3
	machSoftware       = 5
	machBreakpoint     = 6
	machCrash          = 10
	machResource       = 11
	machGuard          = 12

	machProtectionFailure = 2          // of a bad access
	machGeneralProtection = 13         // of a bad access, x86
	machSoftSignal        = 0x10003    // of software: Subcode is a signal
	machAbort             = 0x10002    // of software
	machObjectException   = 0xdeadc0de // of software: Breakpad's number for an exception of Objective-C
)

// fault reports whether the processor stopped at an instruction.
func (m *Mach) fault() bool {
	switch m.Exception {
	case machBadAccess, machBadInstruction, machArithmetic, machBreakpoint:
		return true
	}
	return false
}

// hasAddress reports whether the faulting address is known: of an address that is not canonical x86 does not tell it.
func (m *Mach) hasAddress() bool {
	return m.Exception == machBadAccess && (m.ARM || m.Code != machGeneralProtection)
}

// signal is the signal of Darwin that the exception stands for, 0 for none.
func (m *Mach) signal() int {
	switch {
	case m.Exception == machCrash:
		return int(m.Code >> 24 & 0xff)
	case m.Exception == machSoftware && m.Code == machSoftSignal && m.Subcode < 64:
		return int(m.Subcode)
	case m.Exception == machSoftware && m.Code == machAbort:
		return sigABRT
	}
	return 0
}

func (m *Mach) name() string {
	name := machNames[m.Exception]
	if name == "" {
		name = fmt.Sprintf("Mach exception %#x", m.Exception)
	}
	if signal := m.signal(); signal != 0 {
		if s := darwinSignals[signal]; s != "" {
			return name + " (" + s + ")"
		}
		return fmt.Sprintf("%s (signal %d)", name, signal)
	}
	return name
}

// meaning describes what is not said by an address.
func (m *Mach) meaning() message.Text {
	switch m.Exception {
	case machBadInstruction:
		return message.Textf("an instruction that the processor does not know, or one put there to stop")
	case machArithmetic:
		if m.Code == 1 && !m.ARM {
			return message.Textf("division of a whole number by zero")
		}
		return message.Textf("arithmetic that has no result")
	case machBreakpoint:
		return message.Textf("a breakpoint")
	case machSoftware:
		if m.Code == machObjectException {
			return message.Textf("an exception that was not caught")
		}
	case machResource:
		return message.Textf("a limit of resources was exceeded")
	case machGuard:
		return message.Textf("a guarded resource was used wrongly")
	}
	if m.signal() == sigABRT {
		return message.Textf("the program ended itself (abort)")
	}
	return message.Text{}
}

var machNames = map[uint32]string{machBadAccess: "EXC_BAD_ACCESS", machBadInstruction: "EXC_BAD_INSTRUCTION", machArithmetic: "EXC_ARITHMETIC",
	4: "EXC_EMULATION", machSoftware: "EXC_SOFTWARE", machBreakpoint: "EXC_BREAKPOINT", 7: "EXC_SYSCALL", 8: "EXC_MACH_SYSCALL",
	9: "EXC_RPC_ALERT", machCrash: "EXC_CRASH", machResource: "EXC_RESOURCE", machGuard: "EXC_GUARD", 13: "EXC_CORPSE_NOTIFY"}

// darwinSignals are the signals that Darwin numbers, of which some are not those of Linux.
var darwinSignals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGEMT", 8: "SIGFPE",
	9: "SIGKILL", 10: "SIGBUS", 11: "SIGSEGV", 12: "SIGSYS", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
	30: "SIGUSR1", 31: "SIGUSR2"}
