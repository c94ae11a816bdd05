package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// jsonModule is the object of `symbols --json`; its keys are documented in
// docs/formats.md and stable.
type jsonModule struct {
	// Process is what its process is called, where there are several.
	Process    string        `json:"process,omitempty"`
	Base       string        `json:"base"`
	Size       uint64        `json:"size"`
	Path       string        `json:"path"`
	Identity   string        `json:"identity,omitempty"`
	Records    int64         `json:"records"`
	SymbolFile string        `json:"symbol_file,omitempty"`
	Status     string        `json:"status"`
	Reason     string        `json:"reason"`
	Looked     []jsonAttempt `json:"looked,omitempty"`
	// What the module's image says of itself.
	FileVersion    string `json:"file_version,omitempty"`
	Product        string `json:"product,omitempty"`
	ProductVersion string `json:"product_version,omitempty"`
	Company        string `json:"company,omitempty"`
	Description    string `json:"description,omitempty"`
	Signer         string `json:"signer,omitempty"`
}

type jsonAttempt struct {
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
}

func newSymbols() *cobra.Command {
	var in inputFlags
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "symbols LOG",
		Short: "List the modules of a log and the state of their symbols",
		Long: `symbols prints each module: base, size, rows whose address lies in it, status
of its symbols and path; below it identity, symbol file and why.

matched       the recorded identity equals the symbol file's
attached      it equals that of symbols that an executable of the program
              carries (logparse attach)
embedded      it equals the image's, and the names come from the image itself
exports only  as embedded, but the image has only exported names
starts only   as embedded, but the image has no names: sub_RVA, by where its
              unwind rules say that functions start
mismatched    a file was found that belongs to another build: no names, or
              marked ones with --load-mismatched
unverified    nothing was recorded to check by
not found     no file was found; -v lists every place looked at`,
		Example: `  logparse symbols LogDetails.dat --symbols C:\build\pdb -v`,
		Args:    logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			out := bufio.NewWriter(cmd.OutOrStdout())
			if !asJSON {
				fmt.Fprintf(out, "%18s %10s %9s  %-12s %s\n", "base", "size", "records", "status", "path")
			}
			var process *rows.Process
			for _, m := range s.Modules() {
				if m.Process != process && !asJSON {
					process = m.Process
					fmt.Fprintf(out, "process %s\n", rows.Visible(process.Text()))
				}
				if err := printModule(out, m, asJSON, verbose); err != nil {
					return err
				}
			}
			if err := out.Flush(); err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a module")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "also print what each image says of itself (version, product, signer), and every place looked at, in order")
	return cmd
}

func printModule(out *bufio.Writer, m app.ModuleState, asJSON, verbose bool) error {
	if asJSON {
		j := jsonModule{Process: m.Process.Text(), Base: fmt.Sprintf("%#x", m.Base), Size: m.Size, Path: m.Path, Records: m.Records,
			SymbolFile: m.SymbolFile, Status: string(m.Status), Reason: m.Reason.String()}
		if m.Identity != "-" {
			j.Identity = m.Identity
		}
		j.FileVersion, j.Product, j.ProductVersion, j.Company = m.About.FileVersion, m.About.Product, m.About.ProductVersion, m.About.Company
		j.Description, j.Signer = m.About.Description, m.About.Signer
		for _, a := range m.Attempts {
			j.Looked = append(j.Looked, jsonAttempt{a.Path, a.Outcome.String()})
		}
		return printJSON(out, j)
	}
	fmt.Fprintf(out, "%#18x %#10x %9d  %-12s %s\n", m.Base, m.Size, m.Records, m.Status, rows.Visible(m.Path))
	if m.Identity != "-" {
		fmt.Fprintf(out, "    identity  %s\n", rows.Visible(m.Identity))
	}
	if m.SymbolFile != "" {
		fmt.Fprintf(out, "    symbols   %s\n", rows.Visible(m.SymbolFile))
	}
	_, err := fmt.Fprintf(out, "    why       %s\n", rows.Visible(m.Reason.String()))
	if verbose {
		for _, f := range [][2]string{{"version", m.About.FileVersion}, {"product", strings.TrimSpace(m.About.Product + " " + m.About.ProductVersion)}, {"company", m.About.Company},
			{"about", m.About.Description}, {"signer", m.About.Signer}} {
			if f[1] != "" {
				if f[0] == "signer" {
					f[1] += " (not verified)"
				}
				fmt.Fprintf(out, "    %-9s %s\n", f[0], rows.Visible(f[1]))
			}
		}
		for _, a := range m.Attempts {
			_, err = fmt.Fprintf(out, "    looked    %s\n", rows.Visible(a.Path+": "+a.Outcome.String()))
		}
	}
	return err
}
