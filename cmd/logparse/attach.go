package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

func newAttach() *cobra.Command {
	var in app.Inputs
	var from string
	cmd := &cobra.Command{
		Use:     "attach EXE [MODULE|SYMBOLS...]",
		Aliases: []string{"appendmap"},
		Short:   "Put symbols into an executable, which then carries them",
		Long: `attach puts the symbols of an executable into it, in a compact form: functions,
files, lines, inlined calls, and the rules by which stacks are unwound. Logs of the
program then have names wherever the executable is (status: attached), and nothing of
it is loaded when it runs.

MODULE is a DLL or a shared library of the program, whose symbols the executable
is to carry too; SYMBOLS a map or a PDB of the executable or of a module beside it,
told by its name. Symbols come from the best source that is found, or from that
which --from says. What was attached before is replaced.

In a PE file they lie behind the program, and may be signed with it: attach before
signing. In an ELF file they are a section of its own, .lpsym, which strip keeps.
Signed files, and those behind which something else lies, are not changed.
detach gives the file back as it was, byte for byte. The file keeps its owner, its
permissions and its attributes; what it cannot keep is said, and without its owner it
is no set-user-ID program any more. A symbolic link is not followed.`,
		Example: `  logparse attach app.exe
  logparse attach app.exe engine.dll codec.dll --from pdb
  logparse appendmap xxx.exe xxx.MAP yyy.MAP`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes an EXE, and what else it is to carry", cmd.Name())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			from = strings.ToLower(from)
			if from != "" && !slices.Contains(app.AttachSources(), from) {
				return misused("--from is one of %s, not %q", strings.Join(app.AttachSources(), ", "), from)
			}
			p := newProgress(cmd.ErrOrStderr())
			list, lost, err := app.Attach(cmd.Context(), args[0], args[1:], from, in, p.report)
			p.clear()
			if err != nil {
				return err
			}
			sayLost(cmd, args[0], lost)
			for _, m := range list {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, %d functions, %d bytes (%.1f %% of its code), %d of them unwind rules\n",
					rows.Visible(m.Name), rows.Visible(m.Source+" of "+filepath.Base(m.File)), m.Functions, m.Bytes, 100*float64(m.Bytes)/float64(max(m.Code, 1)), m.Unwind)
				if m.Unchecked {
					fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: %s does not say which build of %s it belongs to\n", rows.Visible(m.File), rows.Visible(m.Name))
				}
				if m.Damaged > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: %s is damaged: %d bytes of code have no names\n", rows.Visible(m.File), m.Damaged)
				}
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&from, "from", "", "take symbols only from this `source`: map, pdb or dwarf (default: the best that is found)")
	addSymbolFlags(cmd, &in)
	return cmd
}

// sayLost says what a file that was replaced had and has no more.
func sayLost(cmd *cobra.Command, path string, lost []string) {
	if len(lost) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: %s has not kept: %s\n", rows.Visible(path), rows.Visible(strings.Join(lost, ", ")))
	}
}

func newDetach() *cobra.Command {
	return &cobra.Command{
		Use:     "detach EXE",
		Aliases: []string{"deletemap"},
		Short:   "Take the symbols off that attach has put into an executable",
		Long: `detach makes an executable what it was before attach, byte for byte, which its
SHA-256 is checked for. It refuses files that were changed since: signed (remove
the signature first), or rewritten by strip (objcopy --remove-section .lpsym).`,
		Example: "  logparse detach app.exe\n  logparse deletemap xxx.exe",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one EXE, not %d", cmd.Name(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			lost, err := app.Detach(cmd.Context(), args[0])
			sayLost(cmd, args[0], lost)
			return err
		},
	}
}
