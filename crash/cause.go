package crash

import (
	"fmt"

	"logparser/message"
)

// An Access is how an instruction accessed memory.
type Access string

const (
	// Touch is a read or a write; it is not known which.
	Touch   Access = "access to"
	Read    Access = "read of"
	Write   Access = "write to"
	Execute Access = "execution of"
)

// A Cause tells why a process ended.
type Cause struct {
	// Signal is the signal of a Unix system, 0 for none. Code is its si_code if HasCode is set.
	Signal  int
	Code    int32
	HasCode bool
	// Uncoded says that the dump has the address of a fault, but not the si_code that would say what the address is.
	Uncoded bool
	// Exception is the code of a Windows exception if HasException is set.
	Exception    uint32
	HasException bool
	// Mach is the exception of macOS and iOS. A signal that it stands for is not in Signal.
	Mach Mach
	// Flags are the flags of the exception. If they are not 0, the program could not continue.
	Flags uint32
	// FastFail is why the program ended itself, if the exception says so and HasFastFail is set.
	FastFail    uint32
	HasFastFail bool
	// Address is the faulting address that the system reported; see HasAddress. Sender is the id of the process that sent a
	// signal.
	Address uint64
	Sender  int64
	// Computed is the address that the operands of the instruction give. It is valid if IsComputed is set, which it is only if
	// the system reported no address.
	Computed   uint64
	IsComputed bool
	Access     Access
	// PC is the address of the instruction, 0 if it is not known.
	PC uint64
	// Said is a description of the cause for causes that are neither a signal nor an exception.
	Said message.Text
	// StackOverflow says that the address lies just outside the thread's stack.
	StackOverflow bool
}

// Signals of Linux.
const (
	sigILL, sigTRAP, sigABRT, sigBUS, sigFPE, sigSEGV, sigSYS = 4, 5, 6, 7, 8, 11, 31

	siKernel = 128
)

// Exceptions of Windows.
const (
	accessViolation = 0xc0000005
	inPageError     = 0xc0000006
)

// nullPage is the size of the range in which an address is taken for an offset from a null pointer. No system maps the first 64
// KiB.
const nullPage = 64 << 10

// Fault reports whether the processor stopped at an instruction.
func (c *Cause) Fault() bool {
	if c.HasException {
		return true
	}
	if c.Mach.fault() {
		return true
	}
	return c.IsFaultSignal() && (c.Uncoded || c.HasCode && c.Code > 0)
}

// IsFaultSignal reports whether the signal is one that the processor causes, though it can also be sent.
func (c *Cause) IsFaultSignal() bool {
	switch c.Signal {
	case sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV:
		return true
	}
	return false
}

// HasAddress reports whether the faulting address is known. The processor does not report an address that is not canonical.
func (c *Cause) HasAddress() bool {
	if c.HasException {
		return (c.Exception == accessViolation || c.Exception == inPageError) && c.Address != 1<<64-1
	}
	if c.Mach.Exception != 0 {
		return c.Mach.hasAddress()
	}
	if c.Uncoded && c.Address == 0 && c.Access == "" {
		return false // a null pointer, or an address that the processor does not tell: the instruction has to say
	}
	return c.Fault() && c.Code != siKernel && (c.Signal == sigSEGV || c.Signal == sigBUS)
}

// Refine completes the cause with the state of the crashed thread: the access, and whether the stack overflowed. Readers call
// it when threads and memory are read.
func (c *Cause) Refine(p *Process) {
	t := p.Crashed()
	if t == nil {
		return
	}
	pc, _ := t.Registers.Get(p.Machine.PC())
	sp, _ := t.Registers.Get(p.Machine.SP())
	c.PC = pc
	if c.Uncoded && c.Address == 0 && pc == 0 {
		c.Access = Execute
	}
	if c.HasAddress() {
		near := int64(c.Address - sp)
		_, _, mapped := p.Memory.Range(c.Address)
		c.StackOverflow = !mapped && near > -(128<<10) && near < 16<<10 && c.Address >= nullPage
		if c.Access == "" && c.Address == pc {
			c.Access = Execute
		}
	}
}

// Decode completes the cause by decoding the instruction. The code may come from the image's file, so this is called after the
// modules were found.
func (c *Cause) Decode(p *Process, code []byte) {
	t := p.Crashed()
	if t == nil || !c.Fault() || c.Access != "" && c.HasAddress() {
		return
	}
	for _, o := range operands(p.Machine, code, &t.Registers) {
		if c.HasAddress() || c.Uncoded && c.Signal == sigSEGV && canonical(o.address) {
			if o.address != c.Address && c.Address-o.address >= 64 {
				continue
			}
			c.Access = o.access
			return
		}
		if (c.Signal == sigSEGV || c.Exception == accessViolation || c.Mach.Exception == machBadAccess) && !canonical(o.address) {
			c.Computed, c.IsComputed, c.Access = o.address, true, o.access
			return
		}
	}
}

// canonical reports whether memory can have a 64-bit address.
func canonical(address uint64) bool {
	high := int64(address) >> 47
	return high == 0 || high == -1
}

// CodeText returns the signal and its code, or the code of the exception, as numbers.
func (c *Cause) CodeText() string {
	switch {
	case c.HasException:
		return fmt.Sprintf("exception %#08x", c.Exception)
	case c.Mach.Exception != 0:
		return fmt.Sprintf("exception %#x, code %#x", c.Mach.Exception, c.Mach.Code)
	case c.Signal != 0 && c.HasCode:
		return fmt.Sprintf("signal %d, code %d", c.Signal, c.Code)
	case c.Signal != 0:
		return fmt.Sprintf("signal %d", c.Signal)
	}
	return ""
}

// Name returns the name of the cause, such as "SIGSEGV" or "0xc0000005".
func (c *Cause) Name() string {
	if c.HasException {
		if name := exceptionNames[c.Exception]; name != "" {
			return name
		}
		return fmt.Sprintf("%#x", c.Exception)
	}
	if c.Mach.Exception != 0 {
		return c.Mach.name()
	}
	if name := signalNames[c.Signal]; name != "" {
		return name
	}
	if c.Signal != 0 {
		return fmt.Sprintf("signal %d", c.Signal)
	}
	return ""
}

// Text describes the cause.
func (c *Cause) Text() message.Text {
	// A description from the recorder takes precedence.
	name := c.Name()
	switch {
	case !c.Said.IsZero():
		return c.Said
	case name == "":
		return message.Textf("not known: the dump says nothing of it")
	case c.StackOverflow:
		return message.Textf("%s: the stack is full (%s)", name, c.where())
	case c.HasAddress() || c.IsComputed:
		return message.Textf("%s: %s", name, c.where())
	case c.Signal == sigSEGV && c.HasCode && c.Code == siKernel:
		return message.Textf("%s: access to an address that no memory has; the processor does not tell which", name)
	case c.HasException && c.Exception == accessViolation, c.Mach.Exception == machBadAccess:
		return message.Textf("%s: access to an address that no memory has; the processor does not tell which", name)
	case c.Signal != 0 && c.HasCode && c.Code <= 0 && c.Code != siTkill && c.Sender > 0:
		return message.Textf("%s, sent by process %d", name, c.Sender)
	}
	if what := c.meaning(); !what.IsZero() {
		return message.Textf("%s: %s", name, what)
	}
	return message.Textf("%s", name)
}

const siTkill = -6

// where describes the access and its address.
func (c *Cause) where() message.Text {
	access := c.Access
	if access == "" {
		access = Touch
	}
	address := c.Address
	if c.IsComputed {
		address = c.Computed
	}
	var text message.Text
	switch access {
	case Read:
		text = message.Textf("read of address %#x", address)
	case Write:
		text = message.Textf("write to address %#x", address)
	case Execute:
		text = message.Textf("execution of address %#x", address)
	default:
		text = message.Textf("access to address %#x", address)
	}
	switch {
	case c.IsComputed:
		return message.Textf("%s, which no memory has (from the instruction's operands)", text)
	case address == 0:
		return message.Textf("%s, a null pointer", text)
	case address < nullPage:
		return message.Textf("%s, null pointer + %d", text, address)
	case -address < 4096:
		return message.Textf("%s, null pointer - %d", text, -address)
	case c.Signal == sigSEGV && c.Code == 2, c.Mach.Exception == machBadAccess && c.Mach.Code == machProtectionFailure:
		return message.Textf("%s, which its rights forbid", text)
	}
	return text
}

// meaning describes the code of a signal or exception.
func (c *Cause) meaning() message.Text {
	if c.HasException {
		if name := fastFailNames[c.FastFail]; c.HasFastFail && name != "" {
			return message.Textf("the program ended itself (fast fail %d, %s)", c.FastFail, name)
		} else if c.HasFastFail {
			return message.Textf("the program ended itself (fast fail %d)", c.FastFail)
		}
		return exceptionMeanings[c.Exception]
	}
	if c.Mach.Exception != 0 {
		return c.Mach.meaning()
	}
	switch c.Signal {
	case sigFPE:
		if c.Code == 1 {
			return message.Textf("division of a whole number by zero")
		}
		return message.Textf("arithmetic that has no result")
	case sigILL:
		return message.Textf("an instruction that the processor does not know, or one put there to stop")
	case sigTRAP:
		return message.Textf("a breakpoint")
	case sigABRT:
		return message.Textf("the program ended itself (abort)")
	case sigSYS:
		return message.Textf("a system call that was forbidden")
	}
	return message.Text{}
}

var signalNames = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", sigILL: "SIGILL", sigTRAP: "SIGTRAP", sigABRT: "SIGABRT",
	sigBUS: "SIGBUS", sigFPE: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", sigSEGV: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM",
	15: "SIGTERM", 16: "SIGSTKFLT", 17: "SIGCHLD", 18: "SIGCONT", 19: "SIGSTOP", 20: "SIGTSTP", 21: "SIGTTIN", 22: "SIGTTOU", 23: "SIGURG",
	24: "SIGXCPU", 25: "SIGXFSZ", 26: "SIGVTALRM", 27: "SIGPROF", 28: "SIGWINCH", 29: "SIGIO", 30: "SIGPWR", sigSYS: "SIGSYS"}
