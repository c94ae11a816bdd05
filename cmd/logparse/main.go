// Command logparse reads binary enter/leave logs without a window: it shows and
// saves them, sums them up, says what symbols there are, names addresses and texts
// with addresses, and hands out the recorder.
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
