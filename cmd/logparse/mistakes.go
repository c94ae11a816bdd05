package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func misused(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// tellUsage has a command, and all below it, report wrong arguments as usage errors.
func tellUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		tellUsage(c)
	}
}

// onlyCommands is the check of commands that only have others: an argument is a
// command that there is not.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noCommand(cmd, args[0])
}

// noCommand says that a command has none of that name.
func noCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	what := fmt.Sprintf("there is no command %q", name)
	if cmd.HasParent() {
		what = fmt.Sprintf("%s has no command %q", cmd.Name(), name)
	}
	if like := nearest(name, names); like != "" {
		return fmt.Errorf("%s; did you mean %s?", what, like)
	}
	if _, err := os.Stat(name); err == nil && !cmd.HasParent() {
		return fmt.Errorf("%s; to read that file: %s", what, toRun("show", name))
	}
	if len(names) > 0 {
		what += "; there are " + strings.Join(names, ", ")
	}
	return errors.New(what)
}

// newHelp makes the command help, which of a command that there is not says so.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Say how a command is used",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 {
				return usageError{noCommand(about, rest[0])}
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var names []cobra.Completion
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// optionMistake says what is wrong with an option: what was given, what is
// expected, and an example.
func optionMistake(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var syntax *pflag.InvalidSyntaxError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		err = noOption(cmd, unknown)
	case errors.As(err, &bare):
		f := bare.GetFlag()
		value, usage := pflag.UnquoteUsage(f)
		err = fmt.Errorf("%s needs its %s: %s", "--"+f.Name, value, usage)
	case errors.As(err, &syntax):
		err = fmt.Errorf("%q is no option", syntax.GetSpecifiedFlag())
	case errors.As(err, &invalid):
		f, value := invalid.GetFlag(), invalid.GetValue()
		what, ok := expected[f.Value.Type()]
		switch {
		case !ok:
			err = fmt.Errorf("%s: %q cannot be taken", "--"+f.Name, value)
		case errors.Is(err, strconv.ErrRange):
			err = fmt.Errorf("%s: %s is too large a number; an example: %s", "--"+f.Name, value, example(f))
		default:
			err = fmt.Errorf("%s: %q is not %s; an example: %s", "--"+f.Name, value, what, example(f))
		}
	}
	return usageError{err}
}

// expected says what the values of options are, by the names of their types.
var expected = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uintSlice": "a whole number", "float64": "a number",
	"duration": "a time with its unit (ns, us, ms, s, m or h)", "bool": "true or false",
}

// example is an option with a value that it takes.
func example(f *pflag.Flag) string {
	value := "20"
	switch f.Name {
	case "record":
		value = "24"
	case "min-percent":
		value = "0.5"
	case "split-rows", "split-bytes":
		value = "1000000"
	case "event-cost":
		value = "14ns"
	}
	if f.Value.Type() == "bool" {
		return "--" + f.Name
	}
	return "--" + f.Name + " " + value
}

// noOption says that a command has no such option.
func noOption(cmd *cobra.Command, e *pflag.NotExistError) error {
	name := e.GetSpecifiedName()
	what := fmt.Sprintf("%s has no option %q", cmd.Name(), "--"+name)
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		what = fmt.Sprintf("%s has no option %q", cmd.Name(), "-"+name)
		if len(letters) > 1 {
			what += fmt.Sprintf(", the first letter of %q", letters)
		}
		// Who writes -limit means --limit.
		name = letters
	}
	var names, verbs []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, c := range cmd.Root().Commands() {
		if c.Flags().Lookup(name) != nil && c.IsAvailableCommand() {
			verbs = append(verbs, c.Name())
		}
	}
	if len(verbs) > 0 && !slices.Contains(names, name) {
		return fmt.Errorf("%s; --%s is one of %s", what, name, strings.Join(verbs, ", "))
	}
	if like := nearest(name, names); like != "" {
		return fmt.Errorf("%s; did you mean --%s?", what, like)
	}
	return errors.New(what)
}

// oneOf checks the value of an option that takes one of some words.
func oneOf(option, given string, words []string) error {
	if slices.Contains(words, given) {
		return nil
	}
	last := len(words) - 1
	like := nearest(given, words)
	if like != "" {
		like = "; did you mean " + like + "?"
	}
	return misused("%s is %s or %s, not %q%s", option, strings.Join(words[:last], ", "), words[last], given, like)
}

// notFor refuses options that would have no effect, if they were given; what says
// on what.
func notFor(cmd *cobra.Command, what string, options ...string) error {
	for _, name := range options {
		if cmd.Flags().Changed(name) {
			return misused("--%s is not for %s", name, what)
		}
	}
	return nil
}

// only refuses an option that has an effect on some formats alone, if it was
// given with another.
func only(cmd *cobra.Command, option, format string, formats ...string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return notFor(cmd, format+", only for "+strings.Join(formats, " and "), option)
}

// nearest returns the word that someone may have meant who wrote another, ""
// for none: one that begins with it or is few mistakes away.
func nearest(written string, words []string) string {
	written = strings.ToLower(written)
	if len(written) < 2 || len(written) > 40 {
		return ""
	}
	best, least := "", max(1, len(written)/3)+1
	for _, w := range words {
		d := distance(written, w)
		if strings.HasPrefix(w, written) {
			d = min(d, 1)
		}
		if d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts the bytes to put in, take out, replace, or swap with their
// neighbour, that lead from one word to another.
func distance(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range now {
		now[j] = j
	}
	for i := range len(a) {
		before, last, now = last, now, before
		now[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			now[j+1] = min(last[j]+cost, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
	}
	return now[len(b)]
}
