package launch

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"logparser/message"
)

// ErrUnpreloadable says that a path cannot stand in LD_PRELOAD.
var ErrUnpreloadable = message.New("a path with a blank, a colon, a semicolon or a dollar sign cannot be preloaded")

// planName is the plan of values beside the logs.
const planName = "values.lpvalues"

const onWindows = runtime.GOOS == "windows"

// environment returns the program's environment: env with what the recorder needs.
func (p *Plan) environment(env []string, opt Options) ([]string, error) {
	dir, err := p.folderFor()
	if err != nil {
		return nil, err
	}
	folder := dir
	if p.Program.Format == PE && !onWindows {
		dir = wineName(dir)
	}
	e := environment{slices.Clone(env)}
	separator := string(filepath.Separator)
	if p.Program.Format == PE {
		separator = `\`
	}
	// A per cent sign stands for the process's id there.
	e.set("LOGREC_FILE", strings.ReplaceAll(dir, "%", "%%")+separator)
	if len(opt.Include) > 0 {
		e.set("LOGREC_INCLUDE", strings.Join(opt.Include, ","))
	}
	if len(opt.Exclude) > 0 {
		e.set("LOGREC_EXCLUDE", strings.Join(opt.Exclude, ","))
	}
	switch {
	case len(opt.ValuePlan) > 0:
		e.set("LOGREC_VALUES", filepath.Join(folder, planName))
	case opt.Values != "":
		e.set("LOGREC_VALUES", opt.Values)
	}
	if opt.Minimum != "" {
		e.set("LOGREC_MIN", opt.Minimum)
	}
	if opt.Paused || opt.Ring != "" {
		mode := opt.Ring
		if i := e.find("LOGREC"); i >= 0 && mode == "" {
			// A ring that the variable asks for is kept.
			_, words, _ := strings.Cut(e.list[i], "=")
			for word := range strings.SplitSeq(words, ",") {
				if strings.HasPrefix(word, "ring") {
					mode = word
				}
			}
		}
		if opt.Paused {
			mode = strings.TrimSuffix("off,"+mode, ",")
		}
		e.set("LOGREC", mode)
	}
	if len(opt.LibraryCalls) > 0 {
		e.set("LOGREC_LIBCALLS", strings.Join(opt.LibraryCalls, ","))
	}
	e.setTriggers(opt.Triggers)
	if opt.Sites {
		e.set("LOGREC_SITES", "1")
	}
	if opt.Lines {
		e.set("LOGREC_OUTPUT", "1")
	}
	if opt.NoChildren {
		e.set("LOGREC_CHILDREN", "0")
	}
	if opt.NoCommandLine {
		e.set("LOGREC_COMMAND_LINE", "0")
	}
	if opt.SnapshotSignal != "" {
		e.set("LOGREC_SNAPSHOT_SIGNAL", opt.SnapshotSignal)
	}
	if opt.SwitchSignal != "" {
		e.set("LOGREC_SWITCH_SIGNAL", opt.SwitchSignal)
	}
	if opt.Crash != "" {
		e.set("LOGREC_CRASH", opt.Crash)
	}
	if p.Program.Format == ELF && (p.Library != "" || p.Program.Linked && p.Program.Sleds != 0) && e.find("LOGREC_PATCH") < 0 {
		// Programs that it starts may have room for hooks, even if it has none; and one that the recorder is linked into may
		// have room and no other hooks.
		e.set("LOGREC_PATCH", "1")
	}
	switch {
	case p.Library == "":
	case p.Program.Format == PE && onWindows:
		e.add("PATH", filepath.Dir(p.Library), ";")
	case p.Program.Format == PE:
		e.add("WINEPATH", wineName(filepath.Dir(p.Library)), ";")
	default:
		if strings.ContainsAny(p.Library, " :;$") {
			return nil, message.Errorf("%s: %w", p.Library, ErrUnpreloadable)
		}
		e.add("LD_PRELOAD", p.Library, ":")
		for _, first := range p.Program.first {
			// The address sanitizer ends a program in which its library is not the first.
			e.add("LD_PRELOAD", first, ":")
		}
	}
	return e.list, nil
}

func (e *environment) setTriggers(t Triggers) {
	depth := ""
	if t.Depth > 0 {
		depth = strconv.Itoa(t.Depth)
	}
	for _, s := range [][2]string{
		{"LOGREC_FROM", strings.Join(t.From, ",")}, {"LOGREC_UNTIL", strings.Join(t.Until, ",")}, {"LOGREC_INSIDE", strings.Join(t.Inside, ",")},
		{"LOGREC_DEPTH", depth}, {"LOGREC_AFTER", t.After}, {"LOGREC_FOR", t.For},
	} {
		if s[1] != "" {
			e.set(s[0], s[1])
		}
	}
}

// An environment is a list of NAME=VALUE.
type environment struct{ list []string }

// find returns the place of a variable, -1 for none.
func (e *environment) find(name string) int {
	return slices.IndexFunc(e.list, func(s string) bool {
		key, _, ok := strings.Cut(s, "=")
		return ok && (key == name || onWindows && strings.EqualFold(key, name))
	})
}

func (e *environment) set(name, value string) {
	if i := e.find(name); i >= 0 {
		e.list[i] = name + "=" + value
		return
	}
	e.list = append(e.list, name+"="+value)
}

// add puts a value in front of the list that a variable is.
func (e *environment) add(name, value, separator string) {
	if i := e.find(name); i >= 0 {
		if _, old, _ := strings.Cut(e.list[i], "="); old != "" {
			value += separator + old
		}
	}
	e.set(name, value)
}

// wineName returns what a path is for programs under wine.
func wineName(path string) string { return `Z:` + strings.ReplaceAll(path, "/", `\`) }
