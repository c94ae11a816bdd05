package launch

import (
	"syscall"
	"unsafe"
)

var queryPerformanceCounter = syscall.NewLazyDLL("kernel32.dll").NewProc("QueryPerformanceCounter")

// now returns the instant of the call.
func now() instant {
	var n uint64
	if ok, _, _ := queryPerformanceCounter.Call(uintptr(unsafe.Pointer(&n))); ok == 0 {
		n = 0
	}
	return instant{counter: counter(), performance: n}
}
