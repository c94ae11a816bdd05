// LogParser is the desktop program: it shows the binary enter/leave log of an
// instrumented program as a table with names.
package main

import (
	"fmt"
	"os"

	"fyne.io/fyne/v2/app"

	"logparser/ui"
	"logparser/ui/instance"
	"logparser/ui/launch"
	"logparser/ui/logstate"
)

func main() {
	start := launch.Parse(os.Args[1:], os.Getenv)
	if start.Print != "" {
		fmt.Print(start.Print)
		return
	}
	if start.Err == nil {
		start.Err = launch.Display(os.Getenv)
	}
	if start.Err == nil {
		start.Err = run(start)
	}
	if start.Err != nil {
		launch.Report(start.Err)
		os.Exit(1)
	}
}

func run(start launch.Start) error {
	socket := ""
	if !start.NewWindow {
		socket = instance.Socket(os.Getenv)
	}
	given := instance.Request{Paths: start.Paths, Sample: start.Sample}
	if socket != "" && instance.Hand(socket, given) {
		return nil
	}
	a := app.NewWithID("io.github.logparser")
	return launch.Guard(func() {
		// Without a folder for it nothing is kept.
		start.Options.States, _ = logstate.Default()
		start.Options.Wait, start.Options.Wake = waitForEvents, wakeUp
		w := ui.New(a, start.Options)
		w.Show(start.Paths)
		if start.Sample {
			w.OpenSample()
		}
		if socket != "" {
			// Without it, further starts have windows of their own.
			if l, err := instance.Listen(socket, w.Take); err == nil {
				a.Lifecycle().SetOnStopped(func() { l.Close() })
			}
		}
	}, a.Run)
}
