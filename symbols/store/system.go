package store

import "os"

// What this package asks the system about paths goes through these, so that
// tests can hold that nothing is asked about a path that the rule refuses.
var (
	statPath  = os.Stat
	lstatPath = os.Lstat
	readLink  = os.Readlink
	openPath  = os.Open
)
