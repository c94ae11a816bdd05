package control

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
)

// A RecordRequest is a program that is to be recorded, as the user writes it.
type RecordRequest struct {
	Program string
	// Arguments are split as a shell splits them.
	Arguments string
	// WorkDir is the program's working folder, Dir the one for the logs; "" for the window's, and for
	// one that is named after the program.
	WorkDir, Dir string
	// Exclude are patterns of functions to be left out, with commas between.
	Exclude string
}

// Errors of a request.
var (
	ErrQuotes    = message.New("a quotation mark is not closed")
	ErrEscape    = message.New("nothing stands behind the last backslash")
	ErrRecording = message.New("a program is being recorded")
)

// command is the program and its arguments.
func (q *RecordRequest) command() ([]string, error) {
	words, err := SplitArguments(q.Arguments)
	if err != nil {
		return nil, err
	}
	return append([]string{cleanPath(q.Program)}, words...), nil
}

func (q *RecordRequest) options() app.RecordOptions {
	opt := app.RecordOptions{Dir: cleanPath(q.Dir), WorkDir: q.workDir(), Apart: true}
	for p := range strings.SplitSeq(q.Exclude, ",") {
		if p = strings.TrimSpace(p); p != "" {
			opt.Exclude = append(opt.Exclude, p)
		}
	}
	return opt
}

func (q *RecordRequest) workDir() string {
	if dir := cleanPath(q.WorkDir); dir != "" {
		return dir
	}
	return "."
}

// A WayIn is what is known of a request before the program runs.
type WayIn struct {
	InputState
	// Advice is what to do about a program that cannot be recorded itself, a line each.
	Advice []string
	// Ready: it can be started.
	Ready bool
}

// A Recorder records one program at a time. It belongs to the goroutine that New's post leads to.
type Recorder struct {
	// OnChange is called after the state has changed.
	OnChange func()
	// OnLog is told the log of the program as soon as it can be read, which is live while the program runs;
	// or the folder of the logs, if the program itself wrote none. symbols is a folder to look for symbols in,
	// "" for none.
	OnLog func(path, symbols string, live bool)
	// OnEnd is told how the program ended, or why it was not started.
	OnEnd func(m *Message)

	post  func(func())
	state RecorderState
	plan  *app.RecordPlan
	looks int  // how often a request was looked at
	told  bool // OnLog was called
}

// A RecorderState is what a recorder does.
type RecorderState struct {
	// Busy: a program is being started or runs. Running: it runs.
	Busy, Running bool
	// Name is the program's, Note what is done before it runs.
	Name, Note string
	// Asked: it was asked to end.
	Asked bool
}

// NewRecorder makes one. post must run functions one after the other on the goroutine that the recorder
// belongs to.
func NewRecorder(post func(func())) *Recorder { return &Recorder{post: post} }

// State returns the present state.
func (r *Recorder) State() RecorderState { return r.state }

func (r *Recorder) set(s RecorderState) {
	r.state = s
	if r.OnChange != nil {
		r.OnChange()
	}
}

// Look finds out how a program would be recorded. Nothing is made or run. done is called later, unless another
// request is looked at meanwhile.
func (r *Recorder) Look(q RecordRequest, done func(WayIn)) {
	r.looks++
	number := r.looks
	go func() {
		w := wayIn(q)
		r.post(func() {
			if number == r.looks {
				done(w)
			}
		})
	}()
}

func wayIn(q RecordRequest) WayIn {
	command, err := q.command()
	if command == nil {
		return WayIn{InputState: InputState{LevelBad, lang.L("Arguments: {{.Cause}}", data{"Cause": ErrorText(err)})}}
	}
	if command[0] == "" {
		return WayIn{InputState: InputState{LevelNone, lang.L("Choose a program")}}
	}
	way, err := app.WayIn(command[0], q.workDir())
	if err != nil {
		return WayIn{InputState: InputState{LevelBad, rows.Visible(ErrorText(err))}}
	}
	w := WayIn{InputState: InputState{LevelGood, rows.Visible(Translate(way.Reason))}, Ready: true}
	if !app.Recordable(way) {
		w.Level = LevelWarn
		w.Advice = advice(way)
	}
	return w
}

func advice(way app.RecordWay) []string {
	var lines []string
	for _, a := range way.Advice {
		lines = append(lines, rows.Visible(Translate(a)))
	}
	return lines
}

// Start starts a program. Its error is one of the request itself; all else OnEnd is told.
func (r *Recorder) Start(q RecordRequest) error {
	if r.state.Busy {
		return ErrRecording
	}
	command, err := q.command()
	if err != nil {
		return err
	}
	r.told = false
	r.set(RecorderState{Busy: true, Name: rows.Visible(filepath.Base(command[0]))})
	opt := q.options()
	opt.Building = func(compiler string) {
		r.post(func() {
			s := r.state
			s.Note = lang.L("Building the recorder's library with {{.Compiler}}, once", data{"Compiler": compiler})
			r.set(s)
		})
	}
	go func() {
		plan, err := app.PrepareRecording(command, opt)
		r.post(func() {
			switch {
			case err != nil:
				r.failed(err)
			case r.state.Asked:
				plan.Discard()
				r.set(RecorderState{})
			default:
				r.plan = plan
				go r.run(plan)
			}
		})
	}()
	return nil
}

// Stop asks the program to end; a second time it is ended by force.
func (r *Recorder) Stop() {
	if !r.state.Busy {
		return
	}
	s, force := r.state, r.state.Asked && r.state.Running
	s.Asked = true
	r.set(s)
	if r.plan != nil {
		if err := r.plan.Stop(force); err != nil && r.OnEnd != nil {
			r.OnEnd(&Message{Level: LevelBad, Text: lang.L("{{.Name}} cannot be stopped: {{.Cause}}", data{"Name": s.Name, "Cause": ErrorText(err)}), Details: ErrorText(err)})
		}
	}
}

// run runs a program to its end. It is called on a goroutine of its own.
func (r *Recorder) run(plan *app.RecordPlan) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	watched, program := make(chan struct{}), 0
	end, err := plan.Run(func(pid int) {
		program = pid
		r.post(func() {
			s := r.state
			s.Running, s.Note = true, ""
			r.set(s)
			if s.Asked {
				plan.Stop(false)
			}
		})
		go func() {
			defer close(watched)
			r.watch(ctx, plan, pid)
		}()
	})
	if err != nil {
		r.post(func() { r.failed(err) })
		return
	}
	stop()
	<-watched
	result, err := plan.Finish(end)
	r.post(func() { r.ended(plan, program, end, result, err) })
}

// findEvery is the time between two looks for the log of a program that was started.
const findEvery = 50 * time.Millisecond

// watch tells of the program's log as soon as it can be read.
func (r *Recorder) watch(ctx context.Context, plan *app.RecordPlan, pid int) {
	for {
		if logs, err := app.RecordedLogs(plan.Dir); err == nil {
			if log := plan.OwnLog(logs, pid); log != "" {
				// The beginning of a file is not written all at once.
				s, err := app.OpenLive(ctx, app.Inputs{Log: log, NoIndexCache: true, NoRecordedPaths: true}, nil, nil)
				if err == nil {
					s.Close()
				}
				if ctx.Err() == nil {
					r.post(func() { r.log(log, plan, true) })
				}
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(findEvery):
		}
	}
}

func (r *Recorder) log(path string, plan *app.RecordPlan, live bool) {
	r.told = true
	if r.OnLog != nil {
		r.OnLog(path, plan.Symbols(), live)
	}
}

func (r *Recorder) failed(err error) {
	name := r.state.Name
	r.plan = nil
	r.set(RecorderState{})
	m := &Message{Level: LevelBad, Text: lang.L("{{.Name}} cannot be recorded: {{.Cause}}", data{"Name": name, "Cause": rows.Visible(ErrorText(err))}), Details: ErrorText(err)}
	switch {
	case errors.Is(err, app.ErrNotEmpty), errors.Is(err, app.ErrNoFolder):
		m.Next = lang.L("Give another folder for the log.")
	case errors.Is(err, app.ErrNoCompiler):
		m.Next = lang.L("Install a C compiler, gcc or clang: the recorder's library is built with it once.")
	case errors.Is(err, app.ErrNoLibrary):
		m.Next = lang.L("Set XDG_CACHE_HOME to a folder that can be written.")
	}
	if r.OnEnd != nil {
		r.OnEnd(m)
	}
}

// ended says how the program ended, and what was recorded.
func (r *Recorder) ended(plan *app.RecordPlan, program int, end app.Ending, result app.RecordResult, err error) {
	was := r.state
	r.plan = nil
	r.set(RecorderState{})
	whole := false // all logs are shown
	if !r.told && len(result.Logs) > 0 {
		path := plan.OwnLog(result.Logs, program)
		if path == "" {
			path, whole = plan.Dir, true
		}
		r.log(path, plan, false)
	}
	if r.OnEnd == nil {
		return
	}
	m := &Message{Level: LevelGood, Text: howEnded(was, end)}
	if end.Signal != 0 && !was.Asked || end.Status != 0 {
		m.Level = LevelWarn
	}
	switch n := int64(len(result.Logs)); {
	case err != nil:
		m.Level, m.Next, m.Details = LevelBad, rows.Visible(ErrorText(err)), ErrorText(err)
	case n == 0:
		lines := advice(plan.Way)
		m.Level, m.Next, m.Details = LevelBad, lang.L("Nothing was recorded."), strings.Join(lines, "\n")
		if len(lines) > 0 {
			m.Next += " " + lines[0]
		}
	case result.Trouble != nil:
		m.Level, m.Next, m.Details = LevelBad, rows.Visible(ErrorText(result.Trouble)), ErrorText(result.Trouble)
	case n > 1:
		m.Next = Count("{{.N}} process was recorded.", "{{.N}} processes were recorded.", n)
		if !whole {
			m.Offer, m.Logs = OfferProcesses, []string{plan.Dir}
		}
	}
	r.OnEnd(m)
}

// howEnded says how a program ended.
func howEnded(s RecorderState, end app.Ending) string {
	about := data{"Name": s.Name, "Time": end.Lasted.Round(time.Millisecond).String(), "N": end.Status}
	switch {
	case end.Signal == 0:
		return lang.L("{{.Name}} ended with status {{.N}} after {{.Time}}.", about)
	case s.Asked:
		about["N"] = end.Signal
		return lang.L("{{.Name}} was stopped (signal {{.N}}) after {{.Time}}.", about)
	}
	about["N"] = end.Signal
	return lang.L("{{.Name}} was ended by signal {{.N}} after {{.Time}}.", about)
}

// SplitArguments splits a line into words as a POSIX shell does: at blanks, with 'single' and "double" quotes
// and backslashes. Nothing is expanded.
// On Windows a backslash is one.
func SplitArguments(line string) ([]string, error) { return split(line, runtime.GOOS != "windows") }

func split(line string, escapes bool) ([]string, error) {
	var words []string
	var word strings.Builder
	const none, single, double = 0, '\'', '"'
	quote, some, escaped := rune(none), false, false
	for _, c := range line {
		switch {
		case escaped:
			// Between double quotes a backslash stands for itself, unless it is before one of these.
			if quote == double && !strings.ContainsRune("$`\"\\\n", c) {
				word.WriteByte('\\')
			}
			if c != '\n' { // else the line goes on
				word.WriteRune(c)
				some = true
			}
			escaped = false
		case c == '\\' && quote != single && escapes:
			escaped = true
		case quote != none && c == quote:
			quote = none
		case quote == none && (c == single || c == double):
			quote, some = c, true
		case quote == none && strings.ContainsRune(" \t\r\n", c):
			if some {
				words = append(words, word.String())
				word.Reset()
				some = false
			}
		default:
			word.WriteRune(c)
			some = true
		}
	}
	switch {
	case quote != none:
		return nil, ErrQuotes
	case escaped:
		return nil, ErrEscape
	case some:
		words = append(words, word.String())
	}
	return words, nil
}
