// Package launch is what happens before the window: arguments, and a message
// for who has no display, or none that OpenGL can draw on.
package launch

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/ncruces/zenity"

	"logparser/app"
	"logparser/rows"
	"logparser/ui"
)

// A Start is what the arguments and the environment ask for.
type Start struct {
	Options ui.Options
	// Sample asks for the bundled sample log.
	Sample bool
	// NewWindow asks for a window of its own, whatever is open already.
	NewWindow bool
	// Paths are the files and folders to open, absolute or file:// URIs.
	Paths []string
	// Print, if not empty, is all there is to do.
	Print string
	Err   error
}

const help = `Usage: logparser [FILE...]

Opens the window of LogParser. FILE is a log, its modules file, the folder that
holds both, or a file or folder with symbols: in any order, paths or file:// URIs.

  --sample      open the sample log that the program brings along
  --new-window  open a window of its own; otherwise files come into the window
                that is open already
  --version     print the version
  --help        print this

The command logparse reads, saves and checks logs without a window.
`

// Parse reads the arguments. LOGPARSER_TRACE=1 makes the program print its
// events, a line each, and LOGPARSER_DIALOGS=fyne avoids the system's file
// dialogs; both are meant for tests.
func Parse(args []string, env func(string) string) Start {
	var s Start
	if env("LOGPARSER_TRACE") == "1" {
		s.Options.Trace = os.Stdout
	}
	s.Options.FyneDialogs = env("LOGPARSER_DIALOGS") == "fyne"
	options := true
	for _, arg := range args {
		switch {
		case !options || !strings.HasPrefix(arg, "-") || arg == "-":
			if !strings.HasPrefix(strings.ToLower(arg), "file:") {
				if abs, err := filepath.Abs(arg); err == nil {
					arg = abs
				}
			}
			s.Paths = append(s.Paths, arg)
		case arg == "--":
			options = false
		case arg == "--sample":
			s.Sample, s.Options.Sample = true, true
		case arg == "--new-window":
			s.NewWindow = true
		case arg == "--version" || arg == "-version":
			s.Print = "LogParser " + app.Version + "\n"
			return s
		case arg == "--help" || arg == "-h" || arg == "-help":
			s.Print = help
			return s
		case strings.HasPrefix(arg, "-psn_"): // what macOS gives to programs started from the Finder
		default:
			s.Err = fmt.Errorf("unknown option %s; try --help", arg)
			return s
		}
	}
	return s
}

// ErrNoDisplay says that there is nothing to show a window on.
var ErrNoDisplay = errors.New("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set), so the window cannot be shown")

// Display checks, on systems that may lack one, that there is a display.
func Display(env func(string) string) error {
	switch runtime.GOOS {
	case "windows", "darwin":
		return nil
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return ErrNoDisplay
	}
	return nil
}

// Guard shows the window and then runs the program. The drawing library
// reports a failure to begin in one of two ways, as a panic or only in the
// standard log; both become an error.
func Guard(show, run func()) (err error) {
	const explained = "the window cannot be shown: the display cannot be reached, or has no OpenGL (%s)"
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		text := fmt.Sprint(r)
		if !isStartFailure(text) {
			panic(r)
		}
		err = fmt.Errorf(explained, strings.TrimSpace(text))
	}()
	watch := &watcher{out: log.Writer()}
	log.SetOutput(watch)
	show()
	log.SetOutput(watch.out)
	if cause, failed := watch.failure(); failed {
		return fmt.Errorf(explained, cause)
	}
	run()
	return nil
}

// A watcher passes a log on and looks for a window that could not be made.
type watcher struct {
	out io.Writer
	mu  sync.Mutex
	log strings.Builder
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.log.Write(p)
	w.mu.Unlock()
	return w.out.Write(p)
}

// failure returns the cause that was logged with a failure to begin.
func (w *watcher) failure() (cause string, failed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, rest, failed := strings.Cut(w.log.String(), "window creation error")
	if !failed {
		return "", false
	}
	if _, after, ok := strings.Cut(rest, "Cause: "); ok {
		cause, _, _ = strings.Cut(after, "\n")
	}
	return strings.TrimSpace(cause), true
}

// isStartFailure tells a missing display or OpenGL from a fault of our own,
// which must not be hidden.
func isStartFailure(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"glfw", "opengl", "x11", "wayland", "glx", "wgl", "egl", "display", "pixelformat", "gl context", "versionunavailable", "apiunavailable", "platformerror"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// Report says why there is no window, and what works without one.
func Report(err error) {
	text := fmt.Sprintf("logparser: %s.\nThe command does the same without a window: logparse show LOG, logparse save LOG -o out.csv.", rows.Visible(err.Error()))
	fmt.Fprintln(os.Stderr, text)
	if runtime.GOOS != "linux" {
		// A program with windows has no terminal there that anybody reads.
		_ = zenity.Error(text, zenity.Title("LogParser"), zenity.ErrorIcon)
	}
}
