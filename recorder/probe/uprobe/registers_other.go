//go:build !amd64 && !arm64

package uprobe

var registers = map[string]int16{}

const (
	stackPointer       = ""
	goroutine          = ""
	instructionPointer = ""
)
