package uprobe

// registers are the offsets of registers in what the kernel gives a probe of them (struct pt_regs).
var registers = map[string]int16{
	"r15": 0, "r14": 8, "r13": 16, "r12": 24, "rbp": 32, "rbx": 40, "r11": 48, "r10": 56, "r9": 64, "r8": 72,
	"rax": 80, "rcx": 88, "rdx": 96, "rsi": 104, "rdi": 112, "rip": 128, "rsp": 152,
}

const (
	stackPointer       = "rsp"
	goroutine          = "r14"
	instructionPointer = "rip"
)
