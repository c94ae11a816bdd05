package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
)

// inProcess is what the reader does without the command around it, in look-ups
// a second of CPU time.
type inProcess struct{ Cold, Warm float64 }

func (b *bench) inProcess(pdb, addresses string) (inProcess, error) {
	var best inProcess
	self, err := os.Executable()
	if err != nil {
		return best, err
	}
	for range b.runs {
		out, err := exec.Command(self, "lookups", pdb, addresses).Output()
		if err != nil {
			return best, err
		}
		var r inProcess
		if err := json.Unmarshal(out, &r); err != nil {
			return best, err
		}
		best.Cold, best.Warm = max(best.Cold, r.Cold), max(best.Warm, r.Warm)
	}
	return best, nil
}

// lookups opens a PDB, looks all addresses of a file up, and again and again
// for a second of CPU time.
func lookups(args []string) error {
	if len(args) != 2 {
		return errors.New("lookups PDB ADDRESSES")
	}
	rvas, err := readAddresses(args[1])
	if err != nil {
		return err
	}
	table, err := openPDB(args[0])
	if err != nil {
		return err
	}
	defer table.Close()
	pass := func() {
		for _, rva := range rvas {
			table.Lookup(rva)
		}
	}
	start := cpuTime()
	pass()
	cold := float64(len(rvas)) / (cpuTime() - start).Seconds()
	start = cpuTime()
	n := 0
	for cpuTime()-start < time.Second {
		pass()
		n += len(rvas)
	}
	return json.NewEncoder(os.Stdout).Encode(inProcess{Cold: cold, Warm: float64(n) / (cpuTime() - start).Seconds()})
}

func readAddresses(path string) ([]uint64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rvas []uint64
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		rva, err := strconv.ParseUint(sc.Text(), 0, 64)
		if err != nil {
			return nil, err
		}
		rvas = append(rvas, rva)
	}
	return rvas, sc.Err()
}

// inflate reads sections of an ELF file through the standard library and
// throws them away.
func inflate(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: inflate IMAGE SECTION [SECTION]")
	}
	f, err := elf.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	for _, name := range args[1:] {
		if s := f.Section(name); s != nil {
			if _, err := io.Copy(io.Discard, s.Open()); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// openSymbols opens the symbol table of an image.
func openSymbols(path string) (symbols.Table, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	im, err := image.Open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	table, err := symtab.New(im)
	if err != nil {
		im.Close()
		return nil, err
	}
	return table, nil
}

// firstname names one address: of a PDB by the PDB, of an image by its symbol
// table.
func firstname(args []string) error {
	if len(args) != 2 {
		return errors.New("firstname IMAGE RVA")
	}
	rva, err := strconv.ParseUint(args[1], 0, 64)
	if err != nil {
		return err
	}
	open := openSymbols
	if filepath.Ext(args[0]) == ".pdb" {
		open = openPDB
	}
	table, err := open(args[0])
	if err != nil {
		return err
	}
	defer table.Close()
	s, err := table.Lookup(rva)
	if err != nil {
		return err
	}
	fmt.Println(s.Outermost().Function)
	return nil
}
