// Command logparse reads binary enter/leave logs without a window: it shows a
// log as a table, saves it as txt or csv, describes it, lists the state of
// its modules' symbols and resolves single addresses.
//
// It needs neither a C compiler nor a display. Run "logparse help" for its
// verbs.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if err := limitMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "logparse:", err)
		os.Exit(exitError)
	}
	ctx := interruptible(context.Background())
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
