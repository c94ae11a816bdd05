package control_test

import (
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/ui/control"
	"logparser/ui/language"
)

// quiet takes the servers out of the environment of the test.
func quiet(t *testing.T) {
	t.Helper()
	t.Setenv("_NT_SYMBOL_PATH", "")
	t.Setenv("DEBUGINFOD_URLS", "")
}

// TestNetworkNeedsAgreement holds that no server is asked that the user has
// not seen named when the network was switched on.
func TestNetworkNeedsAgreement(t *testing.T) {
	quiet(t)
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	if d.State().Wanted.Network {
		t.Error("the network is on from the beginning")
	}
	d.Inputs.SetSymbols([]string{"https://one.example/s"})
	d.waitEvent("loaded")
	d.Inputs.SetNetwork(true)
	d.waitEvent("loaded")
	if !d.State().Found.Network || !slices.Equal(d.Inputs.Agreed(), []string{"https://one.example/s"}) {
		t.Errorf("network %v, agreed to %q", d.State().Found.Network, d.Inputs.Agreed())
	}
	// Fewer servers, and folders, need no new agreement.
	d.Inputs.SetSymbols([]string{"/folder", "https://one.example/s"})
	d.waitEvent("loaded")
	if !d.State().Found.Network {
		t.Error("a folder switched the network off")
	}
	d.Inputs.SetSymbols([]string{"https://one.example/s", "debuginfod:https://two.example"})
	d.waitEvent("loaded")
	if s := d.State(); s.Found.Network || s.Wanted.Network {
		t.Error("a server is asked that nobody agreed to")
	}
	d.Inputs.SetNetwork(false)
	if len(d.Inputs.Agreed()) != 1 {
		t.Errorf("agreed to %q", d.Inputs.Agreed())
	}
}

// TestStrangerIsNamed holds that the user is told why the network is off.
func TestStrangerIsNamed(t *testing.T) {
	quiet(t)
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.Inputs.Restore(app.Inputs{Symbols: []string{"https://one.example/s"}, Network: true}, []string{"https://one.example/s"})
	if !d.State().Wanted.Network {
		t.Error("what was agreed to is forgotten")
	}
	d.Inputs.SetSymbols([]string{"https://user:secret@two.example/s"})
	if m := d.State().Message; m == nil || !strings.Contains(m.Text, "https://two.example/s") || strings.Contains(m.Text, "secret") || d.State().Wanted.Network {
		t.Errorf("message %+v, network %v", m, d.State().Wanted.Network)
	}
	// The environment may name another server at the next start.
	e := newDesk(t, &testlog.Nested{Records: 10})
	t.Setenv("DEBUGINFOD_URLS", "https://three.example")
	e.Inputs.Restore(app.Inputs{Symbols: []string{"https://one.example/s"}, Network: true}, []string{"https://one.example/s"})
	if e.State().Wanted.Network {
		t.Error("a server of the environment is asked that nobody agreed to")
	}
}

func TestFetchIsShownAndStopped(t *testing.T) {
	quiet(t)
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) != "other.pdb" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(12<<20))
		for part := make([]byte, 3<<20); r.Context().Err() == nil; part = part[:1] {
			w.Write(part)
			w.(http.Flusher).Flush()
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}))
	defer server.Close()
	defer close(stop)
	m := testlog.NestedModule()
	m.Path = `C:\sample\other.exe`
	d := newDesk(t, &testlog.Nested{Records: 10, Modules: []modules.Module{m}})
	d.Inputs.Restore(app.Inputs{Symbols: []string{server.URL}, Network: true, SymbolCache: t.TempDir()}, []string{server.URL})
	d.Inputs.SetLog(d.log())
	d.wait("the download", func() bool {
		w := d.State().Work
		return w.Slow && w.Title == "Fetching other.pdb from "+strings.TrimPrefix(server.URL, "http://")+" · 3.1 MB" && w.Done >= 3<<20 && w.Total == 12<<20
	})
	d.Cancel()
	if m := d.waitMessage(); !strings.Contains(m.Text, "Stopped") || !d.State().Opened {
		t.Errorf("message %+v", m)
	}
}

// TestNamesOfAnotherBuild holds that the switch is heard, and that what it
// does is said.
func TestNamesOfAnotherBuild(t *testing.T) {
	quiet(t)
	m := testlog.NestedModule()
	m.Identity.PDB[0]++
	d := newDesk(t, &testlog.Nested{Records: 10, Modules: []modules.Module{m}})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	d.Inputs.SetLoadMismatched(true)
	d.waitEvent("loaded")
	s := d.State()
	if !s.Found.LoadMismatched || s.Symbols.Level != control.LevelBad || !strings.Contains(s.Symbols.Text, "1 of another build") {
		t.Errorf("loads them: %v, symbols %+v", s.Found.LoadMismatched, s.Symbols)
	}
	if m := s.Message; m == nil || m.Level != control.LevelBad || !strings.Contains(m.Text, "marked and may be wrong") {
		t.Errorf("message %+v", m)
	}
}

// TestTexts says a reason of the engine in both languages.
func TestTexts(t *testing.T) {
	inner := message.Text{Pattern: "it is %s, recorded is %s", Args: []any{"A", "B"}}
	p := message.Text{Pattern: "%s is of another build: %s", Args: []any{"a.pdb", inner}}
	for code, want := range map[string]string{
		language.English: "a.pdb is of another build: it is A, recorded is B",
		language.Chinese: "a.pdb 属于另一次构建：它是 A，记录的是 B",
	} {
		if err := language.Set(code); err != nil {
			t.Fatal(err)
		}
		if got := control.Translate(p); got != want {
			t.Errorf("%s: %s", code, got)
		}
	}
	if err := language.Set(language.English); err != nil {
		t.Fatal(err)
	}
}

// What the engine says of logs is said in the window's language and without the
// flags of the command.
func TestCausesAreTranslated(t *testing.T) {
	defer func() {
		if err := language.Set(language.English); err != nil {
			t.Fatal(err)
		}
	}()
	d := newDesk(t, &testlog.Nested{Records: 10, Overhead: &parser.Overhead{EnterAfter: 1000}})
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	d.Inputs.SetCorrected(true)
	d.waitEvent("loaded")
	for code, want := range map[string][2]string{
		language.English: {"this is a program or library, not a log", "this format has the times that were recorded, no corrected durations"},
		language.Chinese: {"这是程序或库，不是日志", "此格式只有记录的时间，没有校正后的耗时"},
	} {
		if err := language.Set(code); err != nil {
			t.Fatal(err)
		}
		if got := control.Cause(&app.InputError{Path: "/x.dat", Err: message.InFile("/x.dat", classic.ErrProgram)}); got != want[0] {
			t.Errorf("%s: %q", code, got)
		}
		d.Dismiss()
		d.Saving.Save(filepath.Join(t.TempDir(), "x.json"), "chrome", app.SaveOptions{})
		m := d.waitMessage()
		if !strings.Contains(m.Text, want[1]) || strings.Contains(m.Text+m.Next+m.Details, "--") {
			t.Errorf("%s: %+v", code, m)
		}
	}
}
