package app

import (
	"regexp"
	"strings"
	"sync"

	"logparser/symbols"
)

// A known is a sentence of the packages below that know only English, with %s
// for what differs, which may be such a sentence itself.
type known struct {
	pattern string
	form    *regexp.Regexp
}

// knowns are the sentences about damage, about files that are no logs, and about
// logs as a whole.
var knowns = sync.OnceValue(func() []known {
	phrases := []Phrase{
		symbols.Say("the record cannot be right (flag byte neither 0 nor 1, or address 0)"),
		symbols.Say("%s records cannot be right (flag byte neither 0 nor 1, or address 0)"),
		symbols.Say("the last record is cut off"),
		symbols.Say("the end of the file is zero: it was never written"),
		symbols.Say("a record lacks bytes of its padding, after which the next begins"),
		symbols.Say("bytes out of step with the records were skipped"),
		symbols.Say("process record: %s"),
		symbols.Say("the file's header: %s"),
		symbols.Say("no chunk here: %s"),
		symbols.Say("thread %s: the recorder lost %s events here"),
		symbols.Say("calls that were open on thread %s when the process was forked: %s; their enters are the parent's"),
		symbols.Say("thread %s: %s chunks are missing before this one"),
		symbols.Say("thread %s: %s"),
		symbols.Say("thread %s has two chunks with number %s"),
		symbols.Say("%s; the rest of the chunk is left out"),
		symbols.Say("%s chunks of them are missing before this one"),
		symbols.Say("chunks that should be here are not"),
		symbols.Say("the file ends within its header"),
		symbols.Say("the file was cut off here"),
		symbols.Say("the chunk has %s bytes and says it uses %s"),
		symbols.Say("the time of the chunk is impossible"),
		symbols.Say("a record goes beyond the end of the chunk"),
		symbols.Say("a record needs a window that is not set"),
		symbols.Say("a time is beyond all bounds"),
		symbols.Say("a record has an impossible length"),
		symbols.Say("it has an impossible length"),
		symbols.Say("it ends too early"),
		symbols.Say("no magic"),
		symbols.Say("the checksum is wrong"),
		symbols.Say("its sizes are impossible"),
		symbols.Say("a chunk of %s bytes"),

		symbols.Say("the log is empty"),
		symbols.Say("the trace has no header: the program ended before anything was recorded"),
		symbols.Say("this is a program or library, not a log"),
		symbols.Say("this is a modules file, not a log"),
		symbols.Say("this looks like text, not a log: it begins with %s"),
		symbols.Say("%s bytes are less than one record: the log is too short"),
		symbols.Say("this does not look like an enter/leave log (if it is one, say its record size with --record 16 or --record 24): %s"),
		symbols.Say("this is another kind of file, not a log: %s"),
		symbols.Say("compressed (%s): unpack it first"),
		symbols.Say("an archive (%s): unpack it first"),
		symbols.Say("a library of object files (%s)"),
		symbols.Say("a picture (%s)"),
		symbols.Say("symbols (%s)"),
		symbols.Say("a recording of perf"),
		symbols.Say("a table (%s)"),
		symbols.Say("a database (%s)"),
		symbols.Say("a document (%s)"),
		symbols.Say("translations (%s)"),
		symbols.Say("a saved trace (%s)"),
		symbols.Say("all of its %s bytes are zero"),
		symbols.Say("of %s records looked at from byte %s on %s fit at %s bytes a record, which is the best"),
		symbols.Say("of %s records looked at %s fit at %s bytes a record, which is the best"),
		symbols.Say("of %s records looked at from byte %s on %s fit at %s bytes a record, but they are not enters and leaves of threads that come again"),
		symbols.Say("of %s records looked at %s fit at %s bytes a record, but they are not enters and leaves of threads that come again"),
		symbols.Say("version %s: this is no trace of version 1, which alone can be read"),
		symbols.Say("its columns can be read in several ways: %s"),
		symbols.Say("no line names a module, line %s is %s: it is not a modules file"),
		symbols.Say("this is a modules file, and its log is not beside it"),
		symbols.Say("it is empty"),
		symbols.Say("it is a folder"),
		symbols.Say("it is not a regular file"),
		symbols.Say("it is not text"),
		symbols.Say("it is not a modules file"),
		symbols.Say("no log (LogDetails.dat or .lptrace) in this folder"),
		symbols.Say("%s logs in this folder (%s, ...)"),
		symbols.Say("the log was cut or written anew while it was read"),
		symbols.Say("this format has the times that were recorded, no corrected durations"),
		symbols.Say("the log does not say what recording cost, so durations cannot be corrected"),

		symbols.Say("the file says so"),
		symbols.Say("%s-byte records, although %s: %s"),
		symbols.Say("%s-byte records: %s; %s; as %s-byte ones %s"),
		symbols.Say("%s-byte records: %s; as %s-byte ones %s"),
		symbols.Say("the modules file says %s-byte pointers"),
		symbols.Say("%s of %s records looked at fit and %s lie in modules"),
		symbols.Say("%s of %s records looked at fit"),
		symbols.Say("%s of %s and %s"),
		symbols.Say("%s of %s"),
		symbols.Say("program %s, pid %s"),
		symbols.Say("command line %s"),
		symbols.Say("system %s"),
		symbols.Say("recorder %s"),
		symbols.Say("the recording did not end in order: the program still runs or was killed"),
		symbols.Say("the recording stopped because the disk was full"),
		symbols.Say("the recording stopped with an error"),
		symbols.Say("a ring: each thread keeps its last %s bytes"),
		symbols.Say("a snapshot of a ring"),
		symbols.Say("calls shorter than %s were dropped"),
		symbols.Say("%s events were lost"),
		symbols.Say("an enter costs %s ns and a leave %s ns to record"),
		symbols.Say("modules were replaced by others at their addresses %s times"),
		symbols.Say("setting %s = %s"),
		symbols.Say("recorded by %s"),
		symbols.Say("the process forked; the child has pid %s and a log of its own"),
		symbols.Say("the process became another program: %s"),
		symbols.Say("a copy that was made while the program ran"),
		symbols.Say("since %s at the latest the times of day shown are %s: the machine slept or its clock was set"),
		symbols.Say("%s early"),
		symbols.Say("%s late"),
		symbols.Say("right again"),
		symbols.Say("the clock was set or the machine slept %s times more"),
		symbols.Say("chunks that were being made are left out: %s, the first at offset %s, %s bytes in all"),
		symbols.Say("chunks that are of a kind that is not known are left out: %s, the first at offset %s, %s bytes in all"),
		symbols.Say("a ring cannot be followed: its old events are overwritten while new ones come"),
	}
	list := make([]known, len(phrases))
	for i, p := range phrases {
		form := strings.ReplaceAll(regexp.QuoteMeta(p.Pattern), "%s", "(.+)")
		list[i] = known{p.Pattern, regexp.MustCompile(`^(?s:` + form + `)$`)}
	}
	return list
})

// Said makes a phrase of a sentence about a log, so that it can be said in other
// languages; one that is not known stays as it is.
func Said(text string) Phrase {
	for _, k := range knowns() {
		found := k.form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		args := make([]any, len(found)-1)
		for i, part := range found[1:] {
			args[i] = Said(part)
		}
		return Phrase{Pattern: k.pattern, Args: args}
	}
	return symbols.Say("%v", text)
}
