//go:build !windows

package classic

import "os"

// openShared opens a file for reading; others may rename and delete it.
func openShared(path string) (*os.File, error) { return os.Open(path) }
