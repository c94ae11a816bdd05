package settings

import (
	"os"
	"time"
)

// lockTime is how long another window is waited for that writes the file. It takes
// milliseconds; one that hangs must not keep this one from writing.
const lockTime = 5 * time.Second

// lock keeps other windows from writing until the function that it returns is called.
// Where files cannot be locked, as on some network disks, it does nothing.
func lock(path string) (unlock func()) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(lockTime); ; time.Sleep(5 * time.Millisecond) {
		got, err := tryLock(f)
		if got || err != nil || time.Now().After(end) {
			return func() { f.Close() } // which gives the lock back
		}
	}
}
