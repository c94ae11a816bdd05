package uprobe

// registers are the offsets of registers in what the kernel gives a probe of them (struct
// user_pt_regs).
var registers = map[string]int16{
	"x0": 0, "x1": 8, "x2": 16, "x3": 24, "x4": 32, "x5": 40, "x6": 48, "x7": 56, "x28": 224, "sp": 248, "pc": 256,
}

const (
	stackPointer       = "sp"
	goroutine          = "x28"
	instructionPointer = "pc"
)
