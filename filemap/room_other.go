//go:build !linux

package filemap

// fits reports whether so many bytes more can be mapped where the address space is
// limited, which is only looked at on Linux.
func fits(int64) bool { return true }
