package app

import (
	"logparser/recorder/launch"
)

// How a program is started so that it is recorded: what window and command share is package
// launch, whose types go by these names here.
type (
	// RecordOptions are how a program is to be recorded.
	RecordOptions = launch.Options
	// RecordTriggers are when a recording begins and ends by itself.
	RecordTriggers = launch.Triggers
	// A RecordPlan is a program that is about to be recorded.
	RecordPlan = launch.Plan
	// An Ending is how a recorded program ended.
	Ending = launch.Ending
	// A RecordedLog is a log that a recorded process wrote.
	RecordedLog = launch.Log
	// A RecordResult is what was recorded.
	RecordResult = launch.Result
)

// What can be wrong with a program that is to be recorded.
var (
	ErrNoProgram  = launch.ErrNoProgram
	ErrNotEmpty   = launch.ErrNotEmpty
	ErrNoFolder   = launch.ErrNoFolder
	ErrNoCompiler = launch.ErrNoCompiler
	ErrNoLibrary  = launch.ErrNoLibrary
)

// PrepareRecording looks at a program, chooses the way in and makes the folder of its
// logs. command is the program and its arguments.
func PrepareRecording(command []string, opt RecordOptions) (*RecordPlan, error) {
	return launch.Prepare(command, opt)
}

// A RecordWay is how a program is recorded.
type RecordWay = launch.Way

// WayIn looks at a program that is started from a folder, and says how it would be recorded. Nothing is
// made or run.
func WayIn(program, workDir string) (RecordWay, error) {
	_, p, err := launch.Look(program, workDir)
	if err != nil {
		return RecordWay{}, err
	}
	return p.Way(), nil
}

// Recordable reports whether a way in records the program itself.
func Recordable(w RecordWay) bool { return w.Kind != launch.Nothing }

// RecordedLogs returns the logs of a folder, in the order in which their processes began to
// record.
func RecordedLogs(dir string) ([]RecordedLog, error) { return launch.Logs(dir) }

// recordedTogether returns the logs of a folder that holds what was recorded of one program,
// none for another folder.
func recordedTogether(dir string) (paths []string) {
	if !launch.IsRecording(dir) {
		return nil
	}
	logs, err := launch.Logs(dir)
	if err != nil {
		return nil
	}
	for _, l := range logs {
		paths = append(paths, l.Path)
	}
	return paths
}
