package modulespanel

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/message"
	"logparser/symbols"
	"logparser/ui/control"
	"logparser/ui/language"
)

func TestPanel(t *testing.T) {
	test.NewTempApp(t)
	if err := language.Set(language.English); err != nil {
		t.Fatal(err)
	}
	p := New()
	w := test.NewTempWindow(t, p.Content)
	w.Resize(fyne.NewSize(300, 600))
	list := []app.ModuleState{
		{Name: "unused.dll", Path: "/unused.dll", Status: "not found", Records: 0},
		{Name: "a.exe", Path: "/a.exe", Base: 0x1000, Size: 0x2000, Identity: "pdb:X:1", Status: "mismatched",
			SymbolFile: "/sym/a.pdb", Reason: message.Text{Pattern: "the file's age is 2"}, Records: 12345,
			About: symbols.About{FileVersion: "1.2.3.4", Product: "Anvil", ProductVersion: "1", Company: "Acme", Signer: "Acme Anvils"}},
	}
	p.Show(list)
	if p.modules[0].Name != "a.exe" {
		t.Error("a module without rows comes first")
	}
	var copied string
	p.OnCopy = func(s string) { copied = s }
	test.Tap(p.copy)
	for _, want := range []string{"a.exe\n", "Status: mismatched\n", "Why: the file's age is 2\n", "Symbol file: /sym/a.pdb\n", "Address: 0x1000 \u2013 0x3000\n", "Rows: 12,345\n",
		"File version: 1.2.3.4\n", "Product: Anvil 1\n", "Company: Acme\n", "Signer, not verified: Acme Anvils\n"} {
		if !strings.Contains(copied, want) {
			t.Errorf("the details lack %q:\n%s", want, copied)
		}
	}
	p.list.Select(1)
	test.Tap(p.copy)
	if !strings.HasPrefix(copied, "unused.dll") {
		t.Errorf("details after choosing the second: %q", copied)
	}
	// The choice stays with the module, not with the place.
	list[0].Records = 99999
	p.Show(list)
	if p.module().Name != "unused.dll" {
		t.Errorf("details are now of %s", p.module().Name)
	}
	p.Show(nil)
	if p.module() != nil || p.copy.Visible() {
		t.Error("details of nothing")
	}
}

func TestLevels(t *testing.T) {
	for _, test := range []struct {
		module app.ModuleState
		want   control.Level
	}{
		{app.ModuleState{Status: "matched", Records: 0}, control.LevelGood},
		{app.ModuleState{Status: "not found", Records: 0}, control.LevelNone},
		{app.ModuleState{Status: "not found", Records: 1}, control.LevelWarn},
		{app.ModuleState{Status: "mismatched", Records: 1}, control.LevelBad},
		{app.ModuleState{Status: "pending", Records: -1}, control.LevelBusy},
		{app.ModuleState{Status: "unverified", Records: 1}, control.LevelWarn},
	} {
		if got := LevelOf(&test.module); got != test.want {
			t.Errorf("%+v: level %d, want %d", test.module, got, test.want)
		}
	}
}
