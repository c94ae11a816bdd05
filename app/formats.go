package app

import (
	"bytes"
	"os"

	"logparser/calls/values"
	"logparser/crash/minidump"
	"logparser/crash/texts"
	"logparser/export"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/parser/probes"
	"logparser/parser/trace"
	"logparser/recorder/probe"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/breakpad"
	"logparser/symbols/dwarf"
	"logparser/symbols/gosym"
	"logparser/symbols/mapfile"
	"logparser/symbols/pdb"
	"logparser/symbols/symtab"
	"logparser/symbols/unwind"
)

// logFormats are the logs that can be opened. A new format is a folder under
// parser and a line here; a new format of texts must also be told by
// [KindOfText], a new extension by [findInFolder].
var logFormats = Formats{classic.Format, trace.Format, probes.Format}

// Formats are kinds of logs that can be opened.
type Formats []parser.Format

// of returns the format whose Detect gives the beginning of a file the highest score.
func (formats Formats) of(head []byte, size int64) parser.Format {
	best, score := formats[0], -1
	for _, f := range formats {
		if n := f.Detect(head, size); n > score {
			best, score = f, n
		}
	}
	return best
}

// symbolFormats are the sources of symbols, the best first. A new source is a
// folder under symbols and a line here.
var symbolFormats = []symbols.Format{pdb.Format, dwarf.Format, breakpad.Format, gosym.Format, symtab.Format, mapfile.Format, unwind.Format, attached.Format}

// SaveFormats returns the names of the formats that [Session.Save] writes.
func SaveFormats() []string { return formatsThat(func(*export.Format) bool { return true }) }

// TableFormats returns the names of those that are tables of rows, with columns that can
// be chosen.
func TableFormats() []string { return formatsThat(func(f *export.Format) bool { return f.Table }) }

// LiveFormats returns the names of those that a log can be followed in.
func LiveFormats() []string { return formatsThat(func(f *export.Format) bool { return f.Live }) }

// LiveFormat reports whether a log can be followed in a format.
func LiveFormat(name string) bool {
	f, _ := saveFormat(name)
	return f.Live
}

func formatsThat(are func(f *export.Format) bool) []string {
	var names []string
	for _, f := range export.Formats() {
		if are(&f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// SaveFormatOf returns the name of the format that a path's extension stands
// for, "" for none.
func SaveFormatOf(path string) string {
	f, _ := export.FormatOf(path)
	return f.Name
}

// SaveTitle returns what a format is, in a few English words, and its files'
// extension without the first dot.
func SaveTitle(format string) (title, extension string) {
	f, _ := saveFormat(format)
	return f.Title, f.Extension
}

// SaveLimitsOf returns where another file is begun if the user does not say so.
// whole says that the format sums up all rows and is never divided.
func SaveLimitsOf(format string) (limits SaveLimits, whole bool) {
	f, _ := saveFormat(format)
	return f.Limits, f.Whole
}

// SavedBefore returns the files that saving to a path may replace: the one of
// that name, and those that an older save was divided into.
func SavedBefore(path, format string) []string {
	f, _ := saveFormat(format)
	return export.Existing(path, f)
}

// HoldsOther reports whether replacing what is at a path by a file of a format
// would lose something else: a file that was not saved in that format, as its content
// shows, or that cannot be read. Nothing is lost of an empty file, and devices and
// pipes are not replaced.
func HoldsOther(path, format string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if own := ownFiles[format]; own != nil {
		head, _, err := readHead(path)
		return err != nil || len(head) > 0 && !own(path, head)
	}
	is, empty, err := export.Recognise(path)
	return err != nil || !empty && (is == "" || is != format)
}

// Formats of files that are no tables of rows, for [HoldsOther].
const (
	PackFormat   = "lppack"
	KeptFormat   = "lpsym"
	PlanFormat   = "lpvalues"
	ProbesFormat = "probes"
	NamesFormat  = "lpnames"
)

// ownFiles tell by the path and the beginning of a file whether it is of such a format.
var ownFiles = map[string]func(path string, head []byte) bool{
	PackFormat:   func(path string, _ []byte) bool { logs, ok := packedLogs(path); return ok && logs > 0 },
	KeptFormat:   func(path string, _ []byte) bool { logs, ok := packedLogs(path); return ok && logs == 0 },
	PlanFormat:   func(_ string, head []byte) bool { return values.IsPlan(head) },
	ProbesFormat: func(_ string, head []byte) bool { return probe.IsFile(head) },
	NamesFormat:  func(_ string, head []byte) bool { return probes.IsNames(head) },
}

// WouldReplace returns the paths of a save of one file that have something else than a device, for [HoldsOther].
func WouldReplace(path string) []string {
	if _, err := os.Lstat(path); err != nil || path == "-" {
		return nil
	}
	return []string{path}
}

func saveFormat(name string) (export.Format, bool) {
	for _, f := range export.Formats() {
		if f.Name == name {
			return f, true
		}
	}
	return export.Format{}, false
}

// IsLiveText reports whether a text begins as those do that are shown while they come through a
// pipe: what tools print of probes.
func IsLiveText(head []byte) bool { return probes.Detect(head, int64(len(head))) >= 90 }

// A TextKind is what a text is for.
type TextKind int

const (
	// TextModules is a modules file, or what is taken for one.
	TextModules TextKind = iota
	// TextLog is a log: what tools print of probes.
	TextLog
	// TextAddresses is a text for people that has addresses in it: a backtrace, a report of a crash.
	TextAddresses
)

// KindOfText tells texts from each other by their first bytes, a few KiB.
func KindOfText(head []byte) TextKind {
	switch {
	case IsLiveText(head):
		return TextLog
	case modules.Looks(head):
		return TextModules
	}
	for line := range bytes.Lines(head) {
		if IsWholeReport(line) || bytes.Contains(line, []byte(minidump.MicrodumpBegin)) {
			return TextAddresses
		}
	}
	if texts.Looks(head) {
		return TextAddresses
	}
	return TextModules
}

// EndOfLiveText is the line that ends a text that came through a pipe.
const EndOfLiveText = probes.EndLine
