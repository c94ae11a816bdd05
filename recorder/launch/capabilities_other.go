//go:build unix && !linux

package launch

func hasCapabilities(string) bool { return false }

// stopped reports whether a process is stopped now, which is not looked at here.
func stopped(int) bool { return false }
