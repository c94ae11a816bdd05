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
	"logparser/ui/settings"
)

// id is what desktops and Fyne know the program by.
const id = "io.github.logparser"

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
	// Before Fyne looks at what it kept for earlier versions. Without a folder for them
	// neither settings nor the state of logs are kept.
	path, earlier, _ := settings.Default(id)
	start.Options.Settings = settings.Open(path, earlier)
	defer start.Options.Settings.Flush()
	a := app.NewWithID(id)
	return launch.Guard(func() {
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
