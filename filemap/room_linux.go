package filemap

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// fits reports whether so many bytes more can be mapped where the address space is
// limited (ulimit -v) and leave enough for everything else: without room for its
// memory the process would end.
func fits(size int64) bool {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur > 1<<62 {
		return true
	}
	used, ok := used()
	return ok && roomy(int64(limit.Cur), used, size)
}

// used returns how many bytes of its address space the process has taken.
func used() (int64, bool) {
	statm, err := os.ReadFile("/proc/self/statm")
	total, _, _ := bytes.Cut(statm, []byte(" "))
	pages, e := strconv.ParseInt(string(total), 10, 64)
	return pages * int64(os.Getpagesize()), err == nil && e == nil
}

// leftOver is what a mapping leaves of a limited address space, in bytes.
const leftOver = 512 << 20

// roomy reports whether size bytes fit into a limit of which some are used. All of
// them are numbers of bytes.
func roomy(limit, used, size int64) bool { return size <= limit-used-leftOver }
