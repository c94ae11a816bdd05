//go:build amd64 || arm64

package launch

// counter returns the processor's counter, the one that the recorder reads.
func counter() uint64
