package control_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/message"
	"logparser/modules"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/language"
)

// A desk is a controller whose posted functions are run by the test.
type desk struct {
	*control.Controller
	t       *testing.T
	nested  *testlog.Nested
	queue   chan func()
	changes control.Change
	events  []string
	dir     string
}

// newDesk makes one that opens every file as a log, whose symbols lie beside it.
func newDesk(t *testing.T, log *testlog.Nested) *desk {
	t.Helper()
	quiet(t)
	if err := language.Set(language.English); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, nested: log, queue: make(chan func(), 10_000), dir: t.TempDir()}
	d.Controller = control.New(app.Formats{log.Format()}.Open, func(f func()) { d.queue <- f })
	d.OnChange = func(c control.Change) { d.changes |= c }
	d.Trace = func(e string) { d.events = append(d.events, e) }
	if err := testlog.WriteSymbols(d.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.end)
	return d
}

// end closes the log and waits until nothing works on it.
func (d *desk) end() {
	d.nested.OnRead(nil)
	d.Close()
	d.waitClosed(d.nested.Opened())
}

// waitClosed waits until so many logs have been closed.
func (d *desk) waitClosed(n int) {
	d.t.Helper()
	d.wait("closing", func() bool { return d.nested.Closed() == n })
}

func (d *desk) file(name, content string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		d.t.Fatal(err)
	}
	return path
}

const binary = "\x00\x10\x00\x40\x01\x00\x00\x00"

func (d *desk) log() string { return d.file("a.dat", binary) }

func (d *desk) wait(what string, cond func() bool) {
	d.t.Helper()
	deadline := time.After(time.Minute)
	for !cond() {
		select {
		case f := <-d.queue:
			f()
		case <-time.After(2 * time.Millisecond): // not all that is waited for is posted
		case <-deadline:
			d.t.Fatalf("waited in vain for %s; events %q", what, d.events)
		}
	}
}

func (d *desk) waitEvent(event string) {
	d.t.Helper()
	seen := 0
	d.wait(event, func() bool {
		for ; seen < len(d.events); seen++ {
			if d.events[seen] == event {
				d.events = d.events[seen+1:]
				return true
			}
		}
		return false
	})
}

func (d *desk) waitMessage() *control.Message {
	d.t.Helper()
	d.wait("a message", func() bool { return d.State().Message != nil })
	return d.State().Message
}

// settle runs whatever is posted for a while.
func (d *desk) settle() {
	for {
		select {
		case f := <-d.queue:
			f()
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

func TestRowsComeBeforeNames(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 1000})
	release := d.nested.Hold()
	d.Inputs.SetLog(d.log())
	d.waitEvent("rows 1000")
	s := d.State()
	if !s.Opened || s.Loaded || s.Rows.Row(3).Function != "sample.exe+0x10c0" {
		t.Fatalf("opened %v, loaded %v, row 3 %q", s.Opened, s.Loaded, s.Rows.Row(3).Function)
	}
	if s.Symbols.Level != control.LevelBusy {
		t.Errorf("symbols %+v", s.Symbols)
	}
	release()
	d.waitEvent("loaded")
	if s.Rows.Row(3).Function != "app::Shape::area<int>" || s.Symbols.Level != control.LevelGood {
		t.Errorf("row 3 %q, symbols %+v", s.Rows.Row(3).Function, s.Symbols)
	}
	if d.changes&control.ChangeContent == 0 {
		t.Error("the table was not told of the names")
	}
}

// Another symbol path resolves again and does not open the log again.
func TestSymbolPathDoesNotReopen(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	d.Inputs.SetSymbols([]string{"/a", "", "/a", " /b "})
	if d.State().Loaded {
		t.Error("still loaded")
	}
	d.waitEvent("loaded")
	if got := d.nested.Opened(); got != 1 {
		t.Errorf("opened %d times", got)
	}
	if got := control.JoinPaths(d.State().Found.Symbols); got != control.JoinPaths([]string{"/a", "/b"}) {
		t.Errorf("the session has symbols %q", got)
	}
}

// Symbols may be set before the log, and while it is being opened.
func TestInputsInAnyOrder(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10, ModulesFile: true, Opening: make(chan struct{})})
	d.Inputs.SetSymbols([]string{"/first"})
	modules := d.file("m.txt", "0x1000 0x1000 a\n")
	d.Inputs.SetModules(modules)
	d.wait("modules", func() bool { return d.State().Wanted.Modules == modules })
	if d.State().Opened || d.nested.Opened() != 0 {
		t.Fatal("opened without a log")
	}
	d.Inputs.SetLog(d.log())
	d.wait("opening", func() bool { return d.State().Log.Level == control.LevelBusy })
	d.Inputs.SetSymbols([]string{"/second"})
	close(d.nested.Opening)
	d.waitEvent("loaded")
	if in := d.State().Found; in.Modules != modules || len(in.Symbols) != 1 || in.Symbols[0] != "/second" {
		t.Errorf("opened with %+v", in)
	}
}

func TestSwappedInputsAreNoticed(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	log, modules := d.log(), d.file("a.bin", "2013 5 6 4 10 0 0 0\n100\n0x1000 0x1000 a.exe\n")
	d.Inputs.SetLog(modules)
	d.waitEvent("loaded")
	if in := d.State().Wanted; in.Log != log || in.Modules != modules {
		t.Errorf("the modules file as the log gives %+v", in)
	}

	d2 := newDesk(t, &testlog.Nested{Records: 10})
	d2.Inputs.SetModules(log)
	d2.waitEvent("rows 10")
	if in := d2.State().Wanted; in.Log != log || in.Modules != "" {
		t.Errorf("the log as the modules file gives %+v", in)
	}
}

// What is given as the log and is none is taken for what it is, which is said.
func TestNoLogIsSaid(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.Inputs.SetLog(d.file("notes.txt", "0x1000 0x1000 a.exe\n"))
	if m := d.waitMessage(); !strings.Contains(m.Text, "notes.txt is text") || d.State().Wanted.Log != "" {
		t.Errorf("message %+v", m)
	}
	d.Dismiss()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "x.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	d.Inputs.SetLog(folder)
	if m := d.waitMessage(); !strings.Contains(m.Text, "symbol path") || len(d.State().Wanted.Symbols) != 1 {
		t.Errorf("message %+v", m)
	}
}

func TestGiveSortsFiles(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	log, modules := d.log(), d.file("b.txt", "\xef\xbb\xbf0x1000 0x1000 C:\\\u7a0b\u5e8f\\a.exe\n")
	pdb := d.file("a.pdb", "Microsoft C/C++ MSF 7.00\r\n")
	elf := d.file("a.so", "\x7fELF\x02")
	folder := filepath.Join(d.dir, "symbols")
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	d.file("symbols/x.txt", "")
	d.Inputs.Give([]string{folder, pdb, "file://" + filepath.ToSlash(modules), elf, log})
	d.waitEvent("loaded")
	in := d.State().Wanted
	if in.Log != log || in.Modules != modules || control.JoinPaths(in.Symbols) != control.JoinPaths([]string{folder, pdb, elf}) {
		t.Errorf("taken as %+v", in)
	}
}

func TestOpenFailureKeepsWhatIsShown(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	log := d.log()
	d.Inputs.SetLog(log)
	d.waitEvent("loaded")
	d.nested.FailOpening(errors.New("record 7 is broken"))
	other := d.file("other.dat", binary)
	d.Inputs.SetLog(other)
	m := d.waitMessage()
	if m.Level != control.LevelBad || !strings.Contains(m.Text, "other.dat") || !strings.Contains(m.Text, "record 7 is broken") || m.Next == "" {
		t.Errorf("message %+v", m)
	}
	if s := d.State(); !s.Opened || s.Wanted.Log != log || s.Log.Level != control.LevelGood {
		t.Errorf("shown is %+v, %+v", s.Wanted, s.Log)
	}
	if d.nested.Closed() != 0 {
		t.Error("the shown session was closed")
	}
}

func TestFirstOpenFailureIsRed(t *testing.T) {
	d := newDesk(t, &testlog.Nested{})
	d.nested.FailOpening(testlog.ErrBroken)
	log := d.log()
	d.Inputs.SetLog(log)
	d.waitMessage()
	if s := d.State(); s.Opened || s.Wanted.Log != log || s.Log != (control.InputState{Level: control.LevelBad, Text: "broken"}) {
		t.Errorf("%+v, %+v", s.Wanted, s.Log)
	}
	d.Inputs.SetLog(filepath.Join(d.dir, "absent.dat"))
	d.settle()
	if s := d.State(); s.Log.Level != control.LevelBad || s.Log.Text != "there is no such file" || s.Message.Next == "" {
		t.Errorf("absent file: %+v, %+v", s.Log, s.Message)
	}
}

// Opening another log closes the one before, exactly once, and one that was
// superseded while it was opened too.
func TestEverySessionIsClosed(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	for _, name := range []string{"1.dat", "2.dat", "3.dat"} {
		d.Inputs.SetLog(d.file(name, binary))
		d.waitEvent("loaded")
	}
	d.waitClosed(2)
	d.Close()
	d.waitClosed(3)
	if s := d.State(); s.Opened || s.Rows != nil || s.Wanted.Log != "" {
		t.Errorf("after closing: %+v", s.Wanted)
	}
}

func TestCancelLoading(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 2_000_000})
	d.nested.Slow()
	d.Inputs.SetLog(d.log())
	d.wait("slow work", func() bool { return d.State().Work.Slow })
	d.Cancel()
	m := d.waitMessage()
	if m.Level != control.LevelWarn || !d.State().Opened || d.State().Loaded {
		t.Errorf("message %+v, opened %v", m, d.State().Opened)
	}
	if d.State().Work.Slow {
		t.Error("work is still shown")
	}
	d.nested.OnRead(nil)
	d.Reload()
	d.waitEvent("loaded")
}

// Progress is shown for as long as opening takes, whatever is done for it: it does not vanish and come again.
func TestProgressStays(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 200_000, Opening: make(chan struct{})})
	d.ShowWorkAfter(20 * time.Millisecond)
	var shown []string
	d.OnChange = func(control.Change) {
		w := d.State().Work
		now := w.Title
		if !w.Slow {
			now = "nothing"
		}
		if n := len(shown); n == 0 || shown[n-1] != now {
			shown = append(shown, now)
		}
	}
	d.nested.Slow()
	d.Inputs.SetLog(d.log())
	d.wait("progress", func() bool { return d.State().Work.Slow })
	close(d.nested.Opening)
	d.wait("pairing", func() bool { return slices.Contains(shown, "Pairing enters and leaves") })
	d.nested.OnRead(nil)
	d.waitEvent("loaded")
	d.wait("the end", func() bool { return !d.State().Work.Slow })
	first := slices.IndexFunc(shown, func(s string) bool { return s != "nothing" })
	if last := slices.Index(shown, "Pairing enters and leaves"); slices.Contains(shown[first:last], "nothing") {
		t.Errorf("one after the other there is %q", shown)
	}
}

// Quick work is not shown at all, also where it ends at the moment at which it would be.
func TestQuickWorkIsNotShown(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.ShowWorkLate()
	slow := false
	d.OnChange = func(control.Change) { slow = slow || d.State().Work.Slow }
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	if slow {
		t.Error("progress was shown for work of a few milliseconds")
	}
}

func TestFindGoesRoundOnce(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 100})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	for _, test := range []struct {
		text     string
		from     int64
		backward bool
		row      int64
		wrapped  bool
	}{
		{"MAIN", 0, false, 0, false},
		{"main", 1, false, 13, false},
		{"main", 99, false, 0, true},
		{"main", 100, false, 0, true},
		{"main", 12, true, 0, false},
		{"main", -1, true, 98, true},
		{"absent", 0, false, -1, false},
	} {
		d.changes = 0
		d.Finder.Find(control.Query{Text: test.text}, test.from, test.backward)
		d.wait("the search", func() bool { return d.changes&control.ChangeFound != 0 })
		if f := d.State().Search; f.Row != test.row || f.Wrapped != test.wrapped {
			t.Errorf("%+v gives %+v", test, f)
		}
	}
}

func TestFilterThread(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 100})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	d.Filter.SetThread(&app.Thread{ID: 1001})
	d.waitEvent("filtered 44")
	s := d.State()
	if !s.Filtered || s.Selection.Where != "thread:1001" || s.Rows.Row(0).Index != 14 {
		t.Fatalf("filtered %v, by %q, row 0 is %d", s.Filtered, s.Selection.Where, s.Rows.Row(0).Index)
	}
	for index, place := range map[int64]int64{0: 0, 1: 0, 14: 0, 15: 1, 30: 13, 99: 43, 1000: 43} {
		if got := d.Calls.PlaceOf(index); got != place {
			t.Errorf("row %d is at %d, want %d", index, got, place)
		}
	}
	d.Filter.ShowAll()
	if s.Filtered || s.Rows.Len() != 100 || d.Calls.PlaceOf(7) != 7 {
		t.Error("the filter is still there")
	}
}

func TestSave(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 10})
	out := filepath.Join(d.dir, "out.csv")
	d.Saving.Save(out, "csv", app.SaveOptions{BOM: true, CRLF: true})
	if !d.Saving.Busy() {
		t.Error("not busy while saving")
	}
	d.waitEvent("saved " + out)
	if got, _ := os.ReadFile(out); !strings.HasPrefix(string(got), "\ufeffindex,") || strings.Count(string(got), "\r\n") != 11 {
		t.Errorf("saved %q", got)
	}
	if m := d.State().Message; m.Level != control.LevelGood || d.Saving.Busy() {
		t.Errorf("message %+v", m)
	}

	if full := "/dev/full"; fileExists(full) {
		d.Dismiss()
		d.Saving.Save(full, "csv", app.SaveOptions{})
		if m := d.waitMessage(); m.Level != control.LevelBad || !strings.Contains(m.Text, "the disk is full") || m.Next == "" || !strings.Contains(m.Details, full) {
			t.Errorf("disk full: %+v", m)
		}
	}

	d = opened(t, &testlog.Nested{Records: 1_000_000})
	d.nested.Slow()
	d.Saving.Save(out, "csv", app.SaveOptions{})
	d.wait("slow work", func() bool { return d.State().Work.Slow && d.State().Work.Title == "Saving" })
	d.Cancel()
	if m := d.waitMessage(); m.Level != control.LevelWarn {
		t.Errorf("cancelled: %+v", m)
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A file that is being saved is finished although another log is opened, and
// its session is closed only then.
func TestSaveOutlivesItsLog(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 10})
	var first atomic.Bool
	reading, release := make(chan struct{}), make(chan struct{})
	d.nested.OnRead(func(int64, int) error {
		if !first.Swap(true) {
			close(reading)
			<-release
		}
		return nil
	})
	out := filepath.Join(d.dir, "out.txt")
	d.Saving.Save(out, "txt", app.SaveOptions{})
	<-reading
	d.Inputs.SetLog(d.file("b.dat", binary))
	d.waitEvent("loaded")
	d.settle()
	if d.nested.Closed() != 0 {
		t.Fatal("closed while it was being saved")
	}
	close(release)
	d.waitEvent("saved " + out)
	d.waitClosed(1)
}

func TestCopyIsCapped(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 200_000})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	line := func(dst []byte, r *rows.Row) []byte { return append(dst, 'x') }
	var text string
	d.Saving.Copy(5, 7, line, func(s string) { text = s })
	d.waitEvent("copied 3")
	if text != "x\nx\nx\n" || d.State().Message != nil {
		t.Errorf("copied %q, %+v", text, d.State().Message)
	}
	d.Saving.Copy(0, 199_999, line, func(s string) { text = s })
	d.waitEvent("copied 100000")
	if strings.Count(text, "\n") != control.MaxCopy || d.State().Message == nil || d.State().Message.Offer != control.OfferSave {
		t.Errorf("copied %d rows, message %+v", strings.Count(text, "\n"), d.State().Message)
	}
}

func TestAdvice(t *testing.T) {
	sample := testlog.NestedModule()
	elsewhere, rebuilt, nameless, unverified := sample, sample, sample, sample
	elsewhere.Base, elsewhere.Path = 0x1000, `C:\windows\other.dll`
	rebuilt.Identity.PDB[0]++
	nameless.Path = elsewhere.Path
	unverified.Identity = modules.Identity{}
	for _, test := range []struct {
		name    string
		nested  *testlog.Nested
		symbols control.Level
		message string
		offer   control.Offer
	}{
		{"all well", &testlog.Nested{Records: 10, Modules: []modules.Module{sample, elsewhere}},
			control.LevelGood, "", control.OfferNone},
		{"mismatched", &testlog.Nested{Records: 10, Modules: []modules.Module{rebuilt}},
			control.LevelBad, "1 module has a symbol file of another build", control.OfferSymbols},
		{"none found", &testlog.Nested{Records: 10, Modules: []modules.Module{nameless}},
			control.LevelWarn, "No symbols were found", control.OfferSymbols},
		{"unverified", &testlog.Nested{Records: 10, Modules: []modules.Module{unverified}},
			control.LevelWarn, "", control.OfferNone},
		{"no modules", &testlog.Nested{Records: 10, Modules: []modules.Module{}, ModulesFile: true},
			control.LevelNone, "Without the modules file", control.OfferModules},
		{"empty", &testlog.Nested{}, control.LevelNone, "The log is empty", control.OfferLog},
		{"damaged", &testlog.Nested{Records: 10, DamageBytes: 5},
			control.LevelGood, "5 bytes of the log are damaged", control.OfferNone},
		{"no time of day", &testlog.Nested{Records: 10, NoTime: message.Textf("it has none")},
			control.LevelGood, "Times are those since the first record", control.OfferModules},
		{"runs", &testlog.Nested{Runs: []int64{7}, Records: 10},
			control.LevelGood, "The file holds more runs: 7 rows", control.OfferNone},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t, test.nested)
			d.Inputs.SetLog(d.log())
			d.waitEvent("loaded")
			s := d.State()
			if s.Symbols.Level != test.symbols {
				t.Errorf("symbols %+v", s.Symbols)
			}
			switch {
			case test.message == "" && s.Message != nil:
				t.Errorf("message %+v", s.Message)
			case test.message != "" && (s.Message == nil || !strings.HasPrefix(s.Message.Text, test.message) || s.Message.Offer != test.offer):
				t.Errorf("message %+v", s.Message)
			}
		})
	}
}

func TestRunSelection(t *testing.T) {
	d := opened(t, &testlog.Nested{Runs: []int64{7}, Records: 10})
	if f := d.State().Facts; f.Chosen != 1 || f.All || d.State().Rows.Len() != 10 {
		t.Errorf("without a choice: %+v, %d rows", f, d.State().Rows.Len())
	}
	d.Inputs.SetRun("all")
	d.waitEvent("loaded")
	if f := d.State().Facts; !f.All || d.State().Rows.Len() != 17 || d.nested.Opened() != 2 {
		t.Errorf("all of them: %+v, %d rows", f, d.State().Rows.Len())
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 999_999_999: "999,999,999", -1: "-1", -1234: "-1,234"} {
		if got := control.Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %q", n, got)
		}
	}
}

// A log that tells its modules needs no modules file, also if it tells of none.
func TestNoModulesInTheLog(t *testing.T) {
	for own, want := range map[bool]string{true: "The log tells of no modules", false: "Without the modules file"} {
		d := newDesk(t, &testlog.Nested{Records: 10, Modules: []modules.Module{}, ModulesFile: !own})
		d.Inputs.SetLog(d.log())
		d.waitEvent("loaded")
		if m := d.State().Message; m == nil || !strings.Contains(m.Text, want) || (m.Offer == control.OfferModules) == own {
			t.Errorf("own %t: %+v", own, m)
		}
		if !own {
			d.Inputs.SetModules(d.file("m.txt", "0x1000 0x1000 a\n"))
			d.waitEvent("loaded")
			if s := d.State().ModulesFile; s != (control.InputState{Level: control.LevelWarn, Text: "Does not describe this run"}) {
				t.Errorf("the modules file is %+v", s)
			}
		}
	}
}
