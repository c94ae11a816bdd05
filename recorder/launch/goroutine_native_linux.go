//go:build amd64 || arm64

package launch

// goroutine returns where Go's runtime keeps what it knows of this goroutine, 0 where that is not known.
func goroutine() uintptr
