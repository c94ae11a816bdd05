package crash

import (
	"fmt"

	"logparser/message"
)

// An Access is what an instruction did with memory.
type Access string

const (
	// Touch: whether it read or wrote is not known.
	Touch   Access = "access to"
	Read    Access = "read of"
	Write   Access = "write to"
	Execute Access = "execution of"
)

// A Cause is why a process ended.
type Cause struct {
	// Signal is the signal of a Unix system, 0 for none. Code is its si_code, if
	// HasCode.
	Signal  int
	Code    int32
	HasCode bool
	// Exception is the code of a Windows exception, if HasException.
	Exception    uint32
	HasException bool
	// Flags are the exception's; other than 0 says that the program cannot go on.
	Flags uint32
	// Address is the faulting address as it was told; see HasAddress. Sender is the
	// process that sent a signal.
	Address uint64
	Sender  int64
	// Computed is the address that the instruction's operands give. It is set, and IsComputed is
	// true, only if the system told no address.
	Computed   uint64
	IsComputed bool
	Access     Access
	// PC is the instruction, 0 where it is not known.
	PC uint64
	// Said is the cause in words where it is neither a signal nor an exception.
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

// nullPage is how far from 0 an address is that was meant relative to a null pointer.
// No system maps the first 64 KiB.
const nullPage = 64 << 10

// Fault reports whether the processor stopped at an instruction.
func (c *Cause) Fault() bool {
	if c.HasException {
		return true
	}
	switch c.Signal {
	case sigILL, sigTRAP, sigBUS, sigFPE, sigSEGV:
		return c.HasCode && c.Code > 0
	}
	return false
}

// HasAddress reports whether the faulting address is known. The processor does not tell the address if it
// is one that no memory can have (not canonical).
func (c *Cause) HasAddress() bool {
	if c.HasException {
		return (c.Exception == accessViolation || c.Exception == inPageError) && c.Address != 1<<64-1
	}
	return c.Fault() && c.Code != siKernel && (c.Signal == sigSEGV || c.Signal == sigBUS)
}

// Refine completes a cause by the crashed thread: what the instruction did, and whether
// the stack was full. Readers call it when threads and memory are there.
func (c *Cause) Refine(p *Process) {
	t := p.Crashed()
	if t == nil {
		return
	}
	pc, _ := t.Registers.Get(p.Machine.PC())
	sp, _ := t.Registers.Get(p.Machine.SP())
	c.PC = pc
	if c.HasAddress() {
		near := int64(c.Address - sp)
		_, _, mapped := p.Memory.Range(c.Address)
		c.StackOverflow = !mapped && near > -(128<<10) && near < 16<<10 && c.Address >= nullPage
		if c.Access == "" && c.Address == pc {
			c.Access = Execute
		}
	}
}

// Decode completes a cause by the code of the instruction. Code bytes may be in the
// image's file, so that this comes after the modules were looked for.
func (c *Cause) Decode(p *Process, code []byte) {
	t := p.Crashed()
	if t == nil || !c.Fault() || c.Access != "" && c.HasAddress() {
		return
	}
	for _, o := range operands(p.Machine, code, &t.Registers) {
		if c.HasAddress() {
			if o.address != c.Address && c.Address-o.address >= 64 {
				continue
			}
			c.Access = o.access
			return
		}
		if (c.Signal == sigSEGV || c.Exception == accessViolation) && !canonical(o.address) {
			c.Computed, c.IsComputed, c.Access = o.address, true, o.access
			return
		}
	}
}

// canonical reports whether an address of 64 bits is one that memory can have.
func canonical(address uint64) bool {
	high := int64(address) >> 47
	return high == 0 || high == -1
}

// CodeText returns signal and code, or the exception's code, as numbers.
func (c *Cause) CodeText() string {
	switch {
	case c.HasException:
		return fmt.Sprintf("exception %#08x", c.Exception)
	case c.Signal != 0 && c.HasCode:
		return fmt.Sprintf("signal %d, code %d", c.Signal, c.Code)
	case c.Signal != 0:
		return fmt.Sprintf("signal %d", c.Signal)
	}
	return ""
}

// Name returns the name of a cause: "SIGSEGV", "0xc0000005".
func (c *Cause) Name() string {
	if c.HasException {
		if name := exceptionNames[c.Exception]; name != "" {
			return name
		}
		return fmt.Sprintf("%#x", c.Exception)
	}
	if name := signalNames[c.Signal]; name != "" {
		return name
	}
	if c.Signal != 0 {
		return fmt.Sprintf("signal %d", c.Signal)
	}
	return ""
}

// Text says a cause in words.
func (c *Cause) Text() message.Text {
	// What a recorder said itself comes first.
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
	case c.HasException && c.Exception == accessViolation:
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

// where says what an instruction did with which address.
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
	case c.Signal == sigSEGV && c.Code == 2:
		return message.Textf("%s, which its rights forbid", text)
	}
	return text
}

// meaning says what a code stands for.
func (c *Cause) meaning() message.Text {
	if c.HasException {
		return exceptionMeanings[c.Exception]
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
	15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", sigSYS: "SIGSYS"}

var exceptionNames = map[uint32]string{
	accessViolation: "EXCEPTION_ACCESS_VIOLATION", inPageError: "EXCEPTION_IN_PAGE_ERROR",
	0xc0000008: "STATUS_INVALID_HANDLE", 0xc000001d: "EXCEPTION_ILLEGAL_INSTRUCTION",
	0xc0000025: "EXCEPTION_NONCONTINUABLE_EXCEPTION", 0xc000008c: "EXCEPTION_ARRAY_BOUNDS_EXCEEDED",
	0xc000008e: "EXCEPTION_FLT_DIVIDE_BY_ZERO", 0xc0000090: "EXCEPTION_FLT_INVALID_OPERATION",
	0xc0000094: "EXCEPTION_INT_DIVIDE_BY_ZERO", 0xc0000095: "EXCEPTION_INT_OVERFLOW",
	0xc0000096: "EXCEPTION_PRIV_INSTRUCTION", 0xc00000fd: "EXCEPTION_STACK_OVERFLOW",
	0xc0000135: "STATUS_DLL_NOT_FOUND", 0xc0000374: "STATUS_HEAP_CORRUPTION", 0xc0000409: "STATUS_STACK_BUFFER_OVERRUN",
	0xc0000417: "STATUS_INVALID_CRUNTIME_PARAMETER", 0xc0000602: "STATUS_FAIL_FAST_EXCEPTION",
	0x80000001: "EXCEPTION_GUARD_PAGE", 0x80000002: "EXCEPTION_DATATYPE_MISALIGNMENT",
	0x80000003: "EXCEPTION_BREAKPOINT", 0x80000004: "EXCEPTION_SINGLE_STEP",
	0x40010005: "DBG_CONTROL_C", 0xe06d7363: "C++ exception (MSVC)", 0x20474343: "C++ exception (GCC)", 0xe0434352: "CLR exception",
}

var exceptionMeanings = map[uint32]message.Text{
	0xc000001d: message.Textf("an instruction that the processor does not know, or one put there to stop"),
	0xc0000094: message.Textf("division of a whole number by zero"),
	0xc00000fd: message.Textf("the stack is full"),
	0xc0000374: message.Textf("the heap is damaged"),
	0xc0000409: message.Textf("the program ended itself (fast fail), or a buffer on the stack was overrun"),
	0x80000003: message.Textf("a breakpoint"),
	0xe06d7363: message.Textf("an exception that was not caught"),
	0x20474343: message.Textf("an exception that was not caught"),
	0xe0434352: message.Textf("an exception that was not caught"),
}
