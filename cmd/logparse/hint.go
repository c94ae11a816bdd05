package main

import (
	"errors"
	"io/fs"
	"strings"

	"logparser/app"
)

// A hinted error is followed by what to do next.
type hinted struct {
	error
	next string
}

func (e hinted) Error() string { return e.error.Error() + "; " + e.next }
func (e hinted) Unwrap() error { return e.error }

// hint adds what to do next to an error where that is known: the packages below say
// what is wrong, and know nothing of options.
func hint(err error) error {
	var already hinted
	if err == nil || errors.As(err, &already) {
		return err
	}
	if next := nextStep(err); next != "" {
		return hinted{err, next}
	}
	return err
}

// nextSteps are those that an error alone tells.
var nextSteps = []struct {
	err  error
	next string
}{
	{app.ErrModulesFile, "give the log as well, with --modules for this file"},
	{app.ErrNoLog, "give the log itself"},
	{app.ErrNotLog, "if it is one, say its record size with --record 16 or --record 24"},
	{app.ErrDump, "logparse crash shows it"},
	{app.ErrNotTrace, "give a .lptrace file"},
	{app.ErrNoRun, "give a number from 1 or all"},
	{app.ErrShrunk, "open it again"},
	{app.ErrNoOverhead, "take the durations as recorded: leave out --corrected"},
	{app.ErrIsInput, "save under another name"},
	{app.ErrParts, "save under another name, or with --replace"},
	{app.ErrSigned, "remove the signature (osslsigncode remove-signature, signtool remove /s), and sign again afterwards"},
	{app.ErrOverlay, "attach before that is put there, or keep the symbols beside the log with logparse keep"},
	{app.ErrChanged, "build it again; from an ELF file objcopy --remove-section .lpsym takes the symbols"},
	{app.ErrNoFunctions, "name the folder of its symbols with --symbols"},
	{app.ErrCrashRecord, "pack it with --crash if it may be given away"},
	{app.ErrNoModuleOf, "give the image itself, and the folder of its symbols with --symbols"},
	{app.ErrLink, "remove it, or give an empty folder"},
	{app.ErrNotFile, "remove it, or give an empty folder"},
}

// nextStep says what to do next, "" where nothing is known.
func nextStep(err error) string {
	for _, s := range nextSteps {
		if errors.Is(err, s.err) {
			return s.next
		}
	}
	var several *app.SeveralLogs
	if errors.As(err, &several) {
		return "give one of them"
	}
	if choices, _, ok := app.ModulesColumnsQuestion(err); ok {
		return "say which with --modules-columns, such as --modules-columns " + choices[0]
	}
	if errors.Is(err, app.ErrRecordedTimes) {
		return "leave out --corrected, or take one of " + strings.Join(app.CorrectedFormats(), ", ")
	}
	var wrong *app.InputError
	if !errors.As(err, &wrong) {
		return ""
	}
	switch wrong.Input {
	case app.LogInput:
		if errors.Is(err, fs.ErrNotExist) {
			return "give the path of a log, of its modules file or of their folder"
		}
	case app.ModulesInput:
		if !errors.Is(err, app.ErrEncoding) {
			return "give the right modules file with --modules"
		}
	}
	return ""
}

// warningText is a warning with what can be done about it here.
func warningText(w app.Warning) string {
	text := w.Text.String()
	switch w.Kind {
	case app.RunsLeftOut:
		text += " (--run N or all takes them)"
	case app.BadModulesFile:
		text += "; --modules names another"
	case app.NoTime:
		text += "; --start-time gives it, and --start-tick the tick then"
	case app.ExportsOnly:
		text += "; name their folder with --symbols"
	case app.Rebuilt:
		text += "; logparse keep LOG, run while the program is as it was recorded, keeps a log's names"
	}
	return text
}
