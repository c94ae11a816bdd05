package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows"
)

// TestNetworkSwitch holds that servers are asked only after the user was told
// which ones and what they learn, and that the choice is remembered.
func TestNetworkSwitch(t *testing.T) {
	t.Setenv("_NT_SYMBOL_PATH", "")
	t.Setenv("DEBUGINFOD_URLS", "")
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	check := r.strip.Network
	test.Tap(check)
	if s := r.ctl.State(); check.Checked || s.Wanted.Network || r.dialogs.top != nil || !strings.Contains(s.Message.Text, "names no symbol server") {
		t.Errorf("without a server: checked %v, message %+v", check.Checked, s.Message)
	}
	r.ctl.Inputs.SetSymbols([]string{"srv*/cache*https://one.example/s"})
	test.Tap(check)
	if r.dialogs.top == nil || r.ctl.State().Wanted.Network {
		t.Fatalf("not asked first: network %v", r.ctl.State().Wanted.Network)
	}
	r.dialogs.top.Dismiss()
	if check.Checked || r.ctl.State().Wanted.Network || r.pref.network() {
		t.Error("on although the user did not agree")
	}
	test.Tap(check)
	r.dialogs.top.(interface{ Confirm() }).Confirm()
	if !check.Checked || !r.ctl.State().Wanted.Network || !r.pref.network() || !slices.Equal(r.pref.agreed(), []string{"https://one.example/s"}) {
		t.Errorf("checked %v, remembered %v for %q", check.Checked, r.pref.network(), r.pref.agreed())
	}
	r.wait("the session", func() bool { return r.ctl.State().Loaded && r.ctl.State().Found.Network })
	test.Tap(check)
	if check.Checked || r.ctl.State().Wanted.Network || r.pref.network() {
		t.Error("it cannot be switched off")
	}
}

// TestRememberedSymbols holds that the search path and what was agreed to
// outlast the program, and that names of another build do not.
func TestRememberedSymbols(t *testing.T) {
	t.Setenv("_NT_SYMBOL_PATH", "")
	t.Setenv("DEBUGINFOD_URLS", "")
	r := newRig(t, &testlog.Nested{Records: 100})
	r.ctl.Inputs.SetSymbols([]string{"/folder", "https://one.example/s"})
	r.ctl.Inputs.SetNetwork(true)
	r.ctl.Inputs.SetLoadMismatched(true)
	again := New(r.app, Options{Post: r.post, FyneDialogs: true}).front
	in := again.ctl.State().Wanted
	want := app.Inputs{Symbols: []string{"/folder", "https://one.example/s"}, Network: true}
	if !slices.Equal(in.Symbols, want.Symbols) || !in.Network || in.LoadMismatched {
		t.Errorf("restored %+v", in)
	}
	if !again.strip.Network.Checked || again.strip.Mismatched.Checked {
		t.Error("the switches show something else")
	}
}

func TestMismatchedSwitch(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	test.Tap(r.strip.Mismatched)
	r.wait("the session", func() bool { return r.ctl.State().Loaded && r.ctl.State().Found.LoadMismatched })
	test.Tap(r.strip.Mismatched)
	r.wait("the session", func() bool { return r.ctl.State().Loaded && !r.ctl.State().Found.LoadMismatched })
}

// TestMarkedSource opens the file that a marked source stands for, unless
// paths out of files are not to be opened.
func TestMarkedSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.cpp")
	if err := os.WriteFile(file, []byte("int main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	find := func(recorded string, mappings []app.SourceMapping) (string, error) {
		return app.SourceFile(recorded, mappings, true)
	}
	for _, recorded := range []string{file, rows.TagSource(file)} {
		args, err := sourceCommand(find, recorded, 7, nil, "edit {file} {line}", false)
		if err != nil || !slices.Equal(args, []string{"edit", file, "7"}) {
			t.Errorf("%s: %q, %v", recorded, args, err)
		}
		if _, err := sourceCommand(find, recorded, 7, nil, "edit {file} {line}", true); err != errForbidden {
			t.Errorf("%s: %v although it is forbidden", recorded, err)
		}
	}
}
