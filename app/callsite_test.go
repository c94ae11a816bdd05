package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/rows"
)

// TestCallSite asks where calls were made from: with a name and a line where
// there are symbols, and by module or address where not.
func TestCallSite(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc4.so=first.so")
	id, run := elfFacts(t, filepath.Join(dir, "first.so"), "_Z3runi")
	const base = uint64(0x7f0000000000)
	text := fmt.Sprintf(`file begin=1000 flags=2
chunk process
load @1000 module=1 base=%#[1]x size=0x10000 path="/lib/first.so" identity="build-id:%[2]s"
load @1000 module=2 base=0x600000 size=0x10000 path="/lib/other.so" identity="build-id:00%[2]s"
chunk events thread=7 base=1000
enter @1100 entry %#[3]x
site %#[4]x
enter @1200 entry 0x600010
leave @1300
site 0x600020
enter @1400 entry 0x600010
site 0x123
enter @1500 entry 0x600010
`, base, id, base+run, base+run+1)
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), text), Symbols: []string{dir}, NoRecordedPaths: true})
	for row, want := range []string{
		"none", "run first.so %s:%d", "run first.so %s:%d", "other.so+0x20 other.so :0", "0x123  :0",
	} {
		site, ok, err := s.CallSite(context.Background(), int64(row))
		got := "none"
		if ok {
			got = fmt.Sprintf("%s %s %s:%d", site.Function, site.Module, site.Source, site.Line)
		}
		if row == 1 || row == 2 {
			if site.Source == "" || site.Line == 0 || site.Address != base+run+1 {
				t.Errorf("row %d: %+v", row, site)
			}
			want = fmt.Sprintf(want, site.Source, site.Line)
		}
		if err != nil || got != want {
			t.Errorf("row %d: %s, want %s, %v", row, got, want, err)
		}
	}
	if _, _, err := s.CallSite(context.Background(), 99); !errors.Is(err, errNoRow) {
		t.Errorf("a row that is not there: %v", err)
	}
	// Names of call sites follow the symbol path.
	named := func() string {
		r := rows.With(s.Rows(), rows.CallSites).Row(1)
		return r.Site.Function
	}
	for _, symbols := range [][]string{{dir}, nil, {dir}} {
		if err := s.SetSymbols(context.Background(), Inputs{Symbols: symbols, NoRecordedPaths: true}, nil); err != nil {
			t.Fatal(err)
		}
		want := "run"
		if symbols == nil {
			want = fmt.Sprintf("first.so+%#x", run+1)
		}
		for range 2 {
			if got := named(); got != want {
				t.Errorf("with symbols in %v the call site is %s, want %s", symbols, got, want)
			}
		}
	}
	if has, ok := s.HasCallSites(); !has || !ok {
		t.Errorf("call sites: %t, %t", has, ok)
	}
	without := open(t, Inputs{Log: traceOf(t, t.TempDir(), strings.Replace(text, " flags=2", "", 1))})
	if has, ok := without.HasCallSites(); has || !ok {
		t.Errorf("call sites of a trace without: %t, %t", has, ok)
	}
	s.Close()
	if _, ok, err := s.CallSite(context.Background(), 1); ok || err == nil {
		t.Error("a closed session has call sites")
	}
	log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := open(t, Inputs{Log: log}).CallSite(context.Background(), 1); ok || err != nil {
		t.Errorf("a classic log: %t, %v", ok, err)
	}
}

// TestInlinedCallSite asks where calls were made from that were inlined into, or jumped to by, the call around them: they have its call site,
// which is not shown as theirs. A function that calls itself in one place has it, too.
func TestInlinedCallSite(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc4.so=first.so")
	id, run := elfFacts(t, filepath.Join(dir, "first.so"), "_Z3runi")
	const base = uint64(0x7f0000000000)
	text := fmt.Sprintf(`file begin=1000 flags=2
chunk process
load @1000 module=1 base=%#[1]x size=0x10000 path="/lib/first.so" identity="build-id:%[2]s"
load @1000 module=2 base=0x600000 size=0x10000 path="/lib/other.so" identity="build-id:00%[2]s"
chunk events thread=7 base=1000
site 0x600020
enter @1100 entry %#[3]x
site 0x600020
enter @1200 entry %#[1]x
leave @1300
site %#[4]x
enter @1400 entry %#[3]x
site %#[4]x
enter @1500 entry %#[3]x
leave @1600
leave @1700
site 0x600020
enter @1800 entry 0x600010
leave @1900
leave @2000
`, base, id, base+run, base+run+1)
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), text), Symbols: []string{dir}, NoRecordedPaths: true})
	src := rows.With(s.Rows(), rows.CallSites)
	for row, want := range []string{"other.so+0x20", "?", "?", "run", "run", "run", "run", "?", "?", "other.so+0x20"} {
		site, ok, err := s.CallSite(context.Background(), int64(row))
		if err != nil || !ok || site.Function != want {
			t.Errorf("row %d: %+v, %v, want %s", row, site, err, want)
		}
		r := src.Row(int64(row))
		if r.Site == nil || r.Site.Function != want || want == "?" && (r.FromSite() || r.Site.Address != 0x600020) {
			t.Errorf("row %d shows %+v, want %s", row, r.Site, want)
		}
	}
}
