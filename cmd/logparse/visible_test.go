package main

import (
	"bufio"
	"bytes"
	"slices"
	"strings"
	"testing"

	"logparser/app"
)

// Names come from files of other machines: a terminal must not act on them.
func TestNamesForTerminals(t *testing.T) {
	const name = "f\x1b[2J\n#g\u202e"
	const shown = "f\uFFFD[2J\uFFFD#g\uFFFD"
	prints := map[string]func(b *bytes.Buffer) error{
		"stats": func(b *bytes.Buffer) error {
			return printStats(b, []app.FunctionStat{{FunctionRef: app.FunctionRef{Function: name, Module: name}}}, "function", 9, 0)
		},
		"stats --by module": func(b *bytes.Buffer) error {
			return printStats(b, []app.FunctionStat{{FunctionRef: app.FunctionRef{Module: name}}}, "module", 9, 0)
		},
		"advise": func(b *bytes.Buffer) error {
			f := app.FunctionCost{Function: name, Module: name, Named: true, Events: 1, OfEvents: 1}
			printAdvice(b, app.Advice{Functions: []app.FunctionCost{f}, Events: 1}, 20, false)
			return nil
		},
		"symbols": func(b *bytes.Buffer) error {
			out := bufio.NewWriter(b)
			if err := printModule(out, app.ModuleState{Path: name, SymbolFile: name, Identity: name}, false, true); err != nil {
				return err
			}
			return out.Flush()
		},
		"info": func(b *bytes.Buffer) error {
			return printInfo(b, jsonInfo{Threads: []jsonThread{{Name: name}}, Notes: []string{name}})
		},
		"resolve": func(b *bytes.Buffer) error {
			sym := app.Symbol{Aliases: []string{name}}
			sym.Frames = slices.Grow(sym.Frames, 2)[:2]
			sym.Frames[0].Function, sym.Frames[0].File, sym.Frames[1].Function = name, name, name
			b.Write(appendText(nil, question{}, &sym, nil))
			return nil
		},
	}
	for verb, print := range prints {
		var b bytes.Buffer
		if err := print(&b); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if text := b.String(); !strings.Contains(text, shown) || strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, "\n#g") {
			t.Errorf("%s prints %q", verb, text)
		}
	}
}

func TestStatsLimit(t *testing.T) {
	if code, _, errs := logparse("stats", sampleDir, "--limit", "-1"); code != exitUsage || !strings.Contains(errs, "--limit") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
