//go:build !amd64

package trace

// loops says that there are loops in assembly: not for this processor. It is a variable for tests.
var loops = false

func passRecords(*passLoop)  { panic("there is no passRecords") }
func readThread(*threadLoop) { panic("there is no readThread") }
func readCalls(*callLoop)    { panic("there is no readCalls") }
