//go:build !unix && !windows

package main

import "os"

// isTerminal cannot tell.
func isTerminal(*os.File) bool { return false }
