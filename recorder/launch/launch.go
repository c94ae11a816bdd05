// Package launch starts programs so that they are recorded. It looks at a program
// ([Inspect]), chooses the way in by which the recorder gets its events and says why
// ([Program.Way]), finds the recorder's library or builds it ([FindLibrary]), runs the
// program ([Plan.Run]) and completes the logs with how it ended ([Plan.Finish]).
//
// # Invariants
//
//  1. The program comes first. Of what it inherits only the environment differs, by
//     LD_PRELOAD (on Windows PATH) and the recorder's own variables; descriptors, terminal,
//     process group, signal dispositions and limits are the caller's (TestUntouched).
//  2. A log is complete without this package: it appends how the process ended
//     ([AppendExit]) and changes nothing that was written before (TestAppendExit).
//  3. What cannot be recorded is said with its reason and what to do, before the
//     program runs where that is known, and else when nothing was recorded (TestWays).
//  4. Several commands at once may build the library: who is first has it in the
//     cache, whole or not at all (TestBuildTwice).
package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"logparser/message"
	"logparser/wholefile"
)

// Options are how a program is to be recorded. The zero value records all calls of
// all processes into a new folder beside the caller.
type Options struct {
	// Dir is the folder for the logs, "" for one that is named after the program. It is
	// made; one that is there must be empty.
	Dir string
	// WorkDir is the program's working folder, from which its path and Dir are understood; "" for the
	// caller's.
	WorkDir string
	// Apart says that the caller goes on with its own work meanwhile. Then its signals are not passed on to the
	// program, and it does not stop when the program is stopped.
	Apart bool
	// Include and Exclude are patterns of functions, as LOGREC_INCLUDE has them.
	Include, Exclude []string
	// Minimum drops calls that are shorter: "10us". "" keeps all.
	Minimum string
	// LibraryCalls are patterns of functions of libraries whose calls by the program are recorded, too.
	LibraryCalls []string
	// Triggers are when recording begins and ends by itself, and which calls are seen.
	Triggers Triggers
	// SwitchSignal is the signal that switches recording off and on, "" for none. Paused begins switched
	// off.
	SwitchSignal string
	Paused       bool
	// Ring keeps the last megabytes of each thread only: "ring" or "ring:MB", "" for all.
	Ring string
	// Sites records where calls came from.
	Sites bool
	// Lines takes what the program prints into the log, too, as annotations.
	Lines bool
	// NoChildren leaves out programs that this one starts with an environment of their own.
	NoChildren bool
	// NoCommandLine leaves the command line out of the log.
	NoCommandLine bool
	// SnapshotSignal is the signal that has a copy of the log written, "" for none.
	SnapshotSignal string
	// Crash is what is written when the program crashes: "off", "first" or "last", and
	// "no-stack", with commas between; "" for the recorder's own choice.
	Crash string
	// Values are the arguments and results that are taken: "raw", or the path of a plan; ""
	// for none. ValuePlan is the text of a plan, which is written beside the logs.
	Values    string
	ValuePlan []byte
	// Library is the recorder's library to take, "" for one that is found or built.
	Library string
	// Bare runs the program as it is: something else records it.
	Bare bool
	// Building, if not nil, is called before the library is built, which takes seconds.
	Building func(compiler string)
}

// Triggers are when the recording of a process begins and ends by itself, and which calls it has. The zero
// value is all calls from the beginning to the end.
type Triggers struct {
	// From, Until and Inside are patterns of functions, as Options.Include. Recording begins when one of From is
	// called, and again after one of Until, whose call is the last. Calls of Inside and those in them are
	// recorded alone.
	From, Until, Inside []string
	// Depth is how deep calls are recorded, 0 for all: the outermost that are recorded are 1 deep.
	Depth int
	// After is how long after the start of each process recording begins, For is how long it goes on then:
	// "500ms", "10s". "" means at once, and to the end.
	After, For string
}

// A Plan is a program that is about to be recorded.
type Plan struct {
	Program *Program
	Way     Way
	// Library is the recorder's library that the program is given, "" for none.
	Library string
	// Dir is the folder of the logs, an absolute path; a relative one if that would be too long for the system.
	Dir string
	// held keeps a folder open that the program finds by the descriptor.
	held *os.File

	command []string // what is started, with the program's arguments
	file    string   // of command[0]
	env     []string
	workDir string
	apart   bool
	made    bool // Dir was made
	watched bool // ends of other processes than the program are written, too

	running *running // made by Prepare
}

// Symbols returns the folder in which symbols must be looked for because the log, of a program under wine,
// names it by a path of Windows; "" for none.
func (p *Plan) Symbols() string {
	if p.Program.Format == PE && !onWindows {
		return filepath.Dir(p.Program.Path)
	}
	return ""
}

// Errors of [Prepare].
var (
	ErrNoProgram = message.New("there is no such program")
	ErrNotEmpty  = message.New("there is something in this folder already")
	ErrNoFolder  = message.New("the folder for the logs cannot be made")
	ErrNoLibrary = message.New("the recorder's library cannot be kept")
	ErrNoWine    = message.New("it is a program for Windows, and wine is not there to run it")
)

// Find returns the path of a program as a shell finds it: by PATH, unless its name has a
// slash.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) && path != "" {
		err = nil
	}
	var e *exec.Error
	if errors.As(err, &e) && (errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, fs.ErrNotExist)) {
		return "", message.Errorf("%s: %w", name, ErrNoProgram)
	}
	if err != nil {
		// Windows programs need no permission to be run, since wine does it.
		if strings.ContainsRune(name, filepath.Separator) && errors.Is(err, fs.ErrPermission) && isPE(name) {
			return name, nil
		}
		return "", err
	}
	return path, nil
}

// Look finds a program as a shell does whose working folder is workDir, "" for the caller's, and looks
// at it. Nothing is made or run.
func Look(name, workDir string) (file string, p *Program, err error) {
	if workDir != "" && filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(workDir, name)
	}
	if file, err = Find(name); err != nil {
		return "", nil, err
	}
	if workDir != "" {
		if file, err = filepath.Abs(file); err != nil {
			return "", nil, err
		}
	}
	p, err = Inspect(file)
	return file, p, err
}

// Prepare looks at a program, finds or builds the recorder's library, and makes the folder of the
// logs. command is the program and its arguments.
func Prepare(command []string, opt Options) (*Plan, error) {
	if opt.WorkDir != "" {
		// The path may be relative to the caller's folder, and the program is started in another
		// one.
		dir, err := filepath.Abs(opt.WorkDir)
		if err != nil {
			return nil, err
		}
		opt.WorkDir = dir
	}
	file, program, err := Look(command[0], opt.WorkDir)
	if err != nil {
		return nil, err
	}
	p := &Plan{Program: program, Way: program.Way(), command: command, file: file, workDir: opt.WorkDir, apart: opt.Apart, running: &running{}}
	if target, ok := program.target(); ok && !opt.Bare {
		if p.Library = opt.Library; p.Library == "" {
			if p.Library, err = FindLibrary(target, opt.Building); err != nil {
				return nil, err
			}
		}
		if p.Library, err = filepath.Abs(p.Library); err != nil {
			return nil, err
		}
	}
	if len(opt.LibraryCalls) > 0 && !opt.Bare {
		p.Way = program.withLibraryCalls(p.Way)
	}
	if program.Format == PE && !onWindows {
		wine, err := findWine()
		if err != nil {
			return nil, message.Errorf("%s: %w", command[0], err)
		}
		p.file, p.command = wine, append([]string{wine, file}, command[1:]...)
	}
	if opt.Bare {
		p.Way = Way{Reason: message.Textf("%s is run as it is, and recorded by probes of the kernel", filepath.Base(program.Path)), Advice: []message.Text{message.Textf("no function with a probe was called")}}
	}
	p.watched = program.Format == ELF && !opt.Bare
	if err := p.makeDir(opt.Dir); err != nil {
		return nil, err
	}
	if len(opt.ValuePlan) > 0 {
		if err := p.put(planName, 0o600, opt.ValuePlan); err != nil {
			p.Discard()
			return nil, err
		}
	}
	if opt.Bare {
		p.env = os.Environ()
	} else if p.env, err = p.environment(os.Environ(), opt); err != nil {
		p.Discard()
		return nil, err
	}
	return p, nil
}

// Folder makes the folder for logs of a file's processes that nobody starts here. Such a plan is not
// run.
func Folder(file, dir string) (*Plan, error) {
	p := &Plan{Program: &Program{Path: file}}
	return p, p.makeDir(dir)
}

func findWine() (string, error) {
	for _, name := range []string{"wine", "wine64"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoWine
}

// onlyName is a program's name without folder and extension.
func onlyName(path string) string {
	name := filepath.Base(path)
	if ext := filepath.Ext(name); strings.EqualFold(ext, ".exe") {
		name = strings.TrimSuffix(name, ext)
	}
	return name
}

// maxFolder is how long the path of the logs' folder may be, so that there is room for their names.
const maxFolder = 3500

// folderFor returns the path by which the program finds the folder of the logs, wherever it goes.
func (p *Plan) folderFor() (string, error) {
	if filepath.IsAbs(p.Dir) {
		return p.Dir, nil
	}
	dir, err := os.Open(p.Dir)
	if err != nil {
		return "", err
	}
	p.held = dir
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), dir.Fd()), nil
}

// makeDir makes the folder of the logs: dir, or NAME.rec, NAME-2.rec … in the working folder.
func (p *Plan) makeDir(dir string) (err error) {
	if dir == "" {
		for n := 1; ; n++ {
			dir = onlyName(p.Program.Path)
			if n > 1 {
				dir += "-" + strconv.Itoa(n)
			}
			dir = filepath.Join(p.workDir, dir+".rec")
			if err = os.Mkdir(dir, 0o777); !errors.Is(err, fs.ErrExist) || n == 100_000 {
				break
			}
		}
		if err != nil {
			return message.Errorf("%w: %w", ErrNoFolder, err)
		}
		p.made = true
	} else {
		if p.workDir != "" && !filepath.IsAbs(dir) {
			dir = filepath.Join(p.workDir, dir)
		}
		switch err = os.Mkdir(dir, 0o777); {
		case err == nil:
			p.made = true
		case !errors.Is(err, fs.ErrExist):
			return message.Errorf("%w: %w", ErrNoFolder, err)
		default:
			entries, err := os.ReadDir(dir)
			if err != nil {
				return err
			}
			if len(entries) > 0 {
				return message.Errorf("%s: %w", dir, ErrNotEmpty)
			}
		}
	}
	if p.Dir, err = filepath.Abs(dir); err != nil || len(p.Dir) > maxFolder {
		p.Dir, err = filepath.Clean(dir), nil
	}
	if err == nil {
		if err = p.mark(); errors.Is(err, wholefile.ErrForeign) {
			err = message.Errorf("%s: %w", dir, wholefile.ErrForeign)
		}
	}
	if err != nil {
		p.Discard()
	}
	return err
}

// Discard removes the folder of the logs if there are none in it.
func (p *Plan) Discard() {
	if logs, err := logsIn(p.Dir); err != nil || len(logs) > 0 {
		return
	}
	folder, err := wholefile.OpenMine(p.Dir)
	if err != nil {
		return
	}
	folder.Remove(marker)
	folder.Remove(planName)
	folder.Close()
	if p.made {
		os.Remove(p.Dir)
	}
}

// put makes a file in the folder of the logs, where there is none of that name.
func (p *Plan) put(name string, mode fs.FileMode, content []byte) error {
	folder, err := wholefile.OpenMine(p.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.New(name, mode, content)
}
