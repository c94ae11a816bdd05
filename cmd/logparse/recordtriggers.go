package main

import (
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"logparser/app"
)

// addTriggers adds the flags that say when recording begins and ends by itself, and which calls are seen.
func addTriggers(flags *pflag.FlagSet, t *app.RecordTriggers) {
	flags.StringArrayVar(&t.From, "from", nil, "begin to record when a function like this `pattern` is called (repeatable)")
	flags.StringArrayVar(&t.Until, "until", nil, "stop when a function like this `pattern` is called, whose call is the last; --from begins again (repeatable)")
	flags.StringArrayVar(&t.Inside, "inside", nil, "record only calls of functions like this `pattern`, and the calls in them (repeatable)")
	flags.IntVar(&t.Depth, "depth", 0, "record calls to this depth only: 1 is the outermost `number`")
	flags.StringVar(&t.After, "after", "", "begin to record this `time` after a process's first call, such as 500ms or 10s")
	flags.StringVar(&t.For, "for", "", "stop this `time` after the recording began")
}

// checkTriggers looks at them, and at what switches by a signal.
func checkTriggers(cmd *cobra.Command, opt *app.RecordOptions) error {
	t := opt.Triggers
	if cmd.Flags().Changed("depth") && (t.Depth < 1 || t.Depth > math.MaxInt32) {
		return misused("--depth is a number of calls from 1 on, not %d", t.Depth)
	}
	for _, time := range []struct{ name, value string }{{"after", t.After}, {"for", t.For}} {
		if time.value != "" && !minimumTime.MatchString(time.value) {
			return misused("--%s is a time, such as 500ms or 10s, not %q", time.name, time.value)
		}
	}
	if opt.Paused && opt.SwitchSignal == "" {
		return misused("--paused needs the signal that ends it, such as --switch-signal USR2")
	}
	return nil
}
