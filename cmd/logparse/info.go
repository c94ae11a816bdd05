package main

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
)

// jsonInfo is the object of `info --json`; its keys are documented in
// docs/formats.md and stable.
type jsonInfo struct {
	Log        string    `json:"log"`
	Modules    string    `json:"modules_file,omitempty"`
	Format     string    `json:"format"`
	Why        string    `json:"why"`
	RecordSize int       `json:"record_size,omitempty"`
	Bytes      int64     `json:"bytes"`
	Records    int64     `json:"records"`
	Rows       int64     `json:"rows"`
	Runs       []jsonRun `json:"runs"`
	// Processes are those of the log, or of several, where there is more than one.
	Processes   []jsonProcess `json:"processes,omitempty"`
	Threads     []jsonThread  `json:"threads"`
	First       string        `json:"first,omitempty"`
	Last        string        `json:"last,omitempty"`
	SpanNS      int64         `json:"span_ns"`
	Depth       int           `json:"greatest_depth"`
	Images      int           `json:"modules"`
	Damage      []jsonDamage  `json:"damage,omitempty"`
	DamageBytes int64         `json:"damage_bytes"`
	Marks       int64         `json:"marks,omitempty"`
	Counters    int64         `json:"counter_values,omitempty"`
	CallSites   *bool         `json:"call_sites,omitempty"` // of a trace
	Notes       []string      `json:"notes,omitempty"`

	ownModules bool // see [app.Session.OwnModules]
	logs       int  // files
}

type jsonRun struct {
	Number   int    `json:"number"`
	First    int64  `json:"first_record"`
	Records  int64  `json:"records"`
	Modules  bool   `json:"has_modules"`
	Selected bool   `json:"selected"`
	Reason   string `json:"reason,omitempty"`
}

type jsonProcess struct {
	ID      uint32 `json:"id,omitempty"`
	Program string `json:"program,omitempty"`
	Log     string `json:"log"`
	Rows    int64  `json:"rows"`

	label string
}

type jsonThread struct {
	ID   uint32 `json:"id"`
	Rows int64  `json:"rows"`
	Name string `json:"name,omitempty"`
	// Process is an index into Processes.
	Process *int `json:"process,omitempty"`
}

type jsonDamage struct {
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

func newInfo() *cobra.Command {
	var in inputFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info LOG",
		Short: "Describe a log: format, records, runs, threads, time span, modules, damage, settings of the recorder",
		Example: `  logparse info LogDetails.dat
  logparse info . --json`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			j := describe(s)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), j)
			} else {
				err = printInfo(cmd.OutOrStdout(), j)
			}
			if err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func describe(s *app.Session) jsonInfo {
	info, inputs, span := s.Info(), s.Inputs(), s.TimeRange()
	j := jsonInfo{Log: inputs.Log, Modules: inputs.Modules, Format: info.Format, Why: info.Why.String(),
		RecordSize: info.RecordSize, Bytes: info.Size, Records: info.Records, Rows: s.Rows().Len(),
		Images: len(s.Modules()), DamageBytes: info.DamageBytes, Notes: message.Strings(info.Notes),
		Runs: []jsonRun{}, Threads: []jsonThread{}, SpanNS: span.Last - span.First, Depth: s.GreatestDepth(), ownModules: s.OwnModules()}
	j.Marks, j.Counters, _ = s.AnnotationCount()
	if has, ok := s.HasCallSites(); ok {
		j.CallSites = &has
	}
	chosen, all := s.Run()
	for i, r := range info.Runs {
		j.Runs = append(j.Runs, jsonRun{i + 1, r.First, r.Count, r.HasModules, all || i == chosen, r.Reason.String()})
	}
	logs, processes := inputs.Logs(), s.Processes()
	j.logs = len(logs)
	for i, p := range processes {
		log := inputs.Log
		if len(logs) == len(processes) {
			log = logs[i]
		}
		j.Processes = append(j.Processes, jsonProcess{ID: p.ID, Program: p.Name, Log: log, label: p.Label})
	}
	for _, t := range s.AllThreads() {
		th := jsonThread{ID: t.ID, Rows: t.Rows, Name: t.Name}
		if t.Process != nil {
			of := t.Process.Number - 1
			th.Process = &of
			j.Processes[of].Rows += t.Rows
		}
		j.Threads = append(j.Threads, th)
	}
	if span.HasWall {
		const layout = "2006-01-02T15:04:05.000"
		j.First, j.Last = span.WallFirst.Format(layout), span.WallLast.Format(layout)
	}
	for _, d := range info.Damage {
		j.Damage = append(j.Damage, jsonDamage{d.Offset, d.Bytes, d.Reason.String()})
	}
	return j
}

// maxListed bounds the threads and damages that the text form lists.
const maxListed = 20

func printInfo(w io.Writer, j jsonInfo) error {
	out := bufio.NewWriter(w)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-11s %s\n", name, rows.Visible(fmt.Sprintf(format, args...)))
	}
	if j.logs > 1 {
		line("log", "%d logs (%d bytes)", j.logs, j.Bytes)
	} else {
		line("log", "%s (%d bytes)", j.Log, j.Bytes)
	}
	if j.Modules != "" {
		line("modules", "%s (%d modules)", j.Modules, j.Images)
	} else if j.Images > 0 {
		line("modules", "%d, recorded in the log", j.Images)
	} else if j.ownModules {
		line("modules", "none recorded in the log: addresses have no names")
	} else {
		line("modules", "no modules file that can be used: addresses have no names")
	}
	line("format", "%s: %s", j.Format, j.Why)
	line("records", "%d", j.Records)
	for _, r := range j.Runs {
		mark := ""
		if r.Selected && len(j.Runs) > 1 {
			mark = ", selected"
		}
		if !r.Modules {
			mark += ", no modules known"
		}
		if r.Reason != "" {
			mark += "; " + r.Reason
		}
		line("run", "%d: %d records from record %d on%s", r.Number, r.Records, r.First, mark)
	}
	for _, p := range j.Processes {
		where := ""
		if j.logs > 1 {
			where = ", " + p.Log
		}
		line("process", "%s: %d rows%s", p.label, p.Rows, where)
	}
	line("threads", "%d", len(j.Threads))
	for i, t := range j.Threads {
		if i == maxListed {
			line("", "... and %d more", len(j.Threads)-i)
			break
		}
		more := ""
		if t.Name != "" {
			more = ", " + t.Name
		}
		if t.Process != nil {
			more += ", process " + j.Processes[*t.Process].label
		}
		line("", "%d: %d rows%s", t.ID, t.Rows, more)
	}
	if j.Rows == 0 {
		if j.First != "" {
			line("time", "from %s on; there are no rows", j.First)
		} else {
			line("time", "there are no rows")
		}
	} else if j.First != "" {
		line("time", "%s to %s (%v)", j.First, j.Last, time.Duration(j.SpanNS))
	} else {
		line("time", "%v elapsed; the local time was not recorded", time.Duration(j.SpanNS))
	}
	if j.Rows > 0 {
		line("depth", "%d at most; outermost calls have 0", j.Depth)
	}
	if j.DamageBytes == 0 && len(j.Damage) == 0 {
		line("damage", "none")
	}
	for i, d := range j.Damage {
		if i == maxListed {
			line("", "... and %d more places, %d bytes in all", len(j.Damage)-i, j.DamageBytes)
			break
		}
		line("damage", "%d bytes at offset %d: %s", d.Bytes, d.Offset, d.Reason)
	}
	if j.Marks > 0 || j.Counters > 0 {
		line("annotations", "%d, and %d values of counters: logparse annotations prints them", j.Marks, j.Counters)
	}
	// The notes have the recorder's other settings.
	if j.CallSites != nil && *j.CallSites {
		line("note", "it was recorded where calls came from: setting LOGREC_SITES = 1")
	} else if j.CallSites != nil {
		line("note", "it was not recorded where calls came from: LOGREC_SITES=1 does that")
	}
	for _, n := range j.Notes {
		line("note", "%s", n)
	}
	return out.Flush()
}
