//go:build !windows

package filetypes

// Possible reports whether the system has types of files that a program can register for.
const Possible = false

// Registered reports whether files are opened with the program.
func Registered(string) bool { return false }

// Register lets the system open files with the program at a path.
func Register(string) error { return nil }

// Unregister takes back what Register did.
func Unregister() error { return nil }
