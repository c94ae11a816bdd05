// Package classictest makes classic logs for tests: from a readable text, and
// by a fast generator of call trees of any size. It also turns a binary log
// back into text.
//
// # The text form
//
// A line is an instruction; "#" begins a comment (behind a module, " # "
// does). Numbers are decimal or have
// 0x in front.
//
//	record 16|24                     bytes a record, 24 if not said
//	padding N                        the padding's byte, 0 if not said
//	ours                             the modules file gets the recorder's header
//	start 2026-11-21T11:22:33.456    first line of the modules file
//	tick N                           the counter's value now; before the first
//	                                 record also the second line of the modules
//	                                 file
//	module REST OF LINE              a line of the modules file, as it is
//	name NAME ADDRESS                gives an address a name
//	run [N]                          a new run: the modules file so far is
//	                                 thrown away, the counter set to N, if given,
//	                                 and written to it
//	enter THREAD ADDRESS [TIME]      a record
//	leave THREAD ADDRESS [TIME]
//	flag N THREAD ADDRESS [TIME]     a record whose flag byte is N
//	bytes HEX…                       bytes as they are
//	drop N                           takes N bytes away from the end again
//
// THREAD is a number, with or without a t in front; ADDRESS a number or a
// name, either with "+N" behind it; TIME is +N (milliseconds after the last
// record) or @N (the counter's value), and nothing stands for +0.
package classictest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of the files of a pair.
const (
	LogName     = "LogDetails.dat"
	ModulesName = "LogDetails.bin"
)

// Files are a log and its modules file.
type Files struct {
	RecordSize int
	Log        []byte
	// Modules is nil where the text has nothing for it.
	Modules []byte
}

// AppendRecord appends a record of the given size. The flag is written as it
// is, the padding filled with a byte.
func AppendRecord(b []byte, size int, address uint64, thread, tick uint32, flag, padding byte) []byte {
	if size == 16 {
		b = binary.LittleEndian.AppendUint32(b, uint32(address))
		b = binary.LittleEndian.AppendUint32(b, thread)
		b = binary.LittleEndian.AppendUint32(b, tick)
		return append(b, flag, padding, padding, padding)
	}
	b = binary.LittleEndian.AppendUint64(b, address)
	b = binary.LittleEndian.AppendUint32(b, thread)
	b = binary.LittleEndian.AppendUint32(b, tick)
	return append(b, flag, padding, padding, padding, padding, padding, padding, padding)
}

type compiler struct {
	Files
	padding byte
	tick    uint32
	names   map[string]uint64
	lines   []string // of the modules file
	ours    bool
	start   string
	hasTick bool
	atStart uint32
	records int
}

// Compile turns text into files. An error names the line.
func Compile(text string) (Files, error) {
	c := &compiler{names: make(map[string]uint64)}
	c.RecordSize = 24
	for i, line := range strings.Split(text, "\n") {
		code, _, _ := strings.Cut(line, "#")
		f := strings.Fields(code)
		if len(f) == 0 {
			continue
		}
		if err := c.line(f, line); err != nil {
			return Files{}, fmt.Errorf("line %d: %q: %w", i+1, strings.TrimSpace(line), err)
		}
	}
	c.Modules = c.modulesFile()
	return c.Files, nil
}

func (c *compiler) modulesFile() []byte {
	var b strings.Builder
	if c.ours {
		b.WriteString("# LogParser modules file 1: base size pointer-size identity timestamp path\n")
	}
	if c.start != "" {
		b.WriteString(c.start + "\n")
	}
	if c.hasTick {
		fmt.Fprintf(&b, "%d\n", c.atStart)
	}
	for _, l := range c.lines {
		b.WriteString(l + "\n")
	}
	if b.Len() == 0 {
		return nil
	}
	return []byte(b.String())
}

func number(s string, bits int) (uint64, error) { return strconv.ParseUint(s, 0, bits) }

func (c *compiler) line(f []string, line string) error {
	args := f[1:]
	need := func(least, most int) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s takes %d to %d words", f[0], least, most)
		}
		return nil
	}
	switch f[0] {
	case "record":
		if err := need(1, 1); err != nil {
			return err
		}
		if c.records > 0 || args[0] != "16" && args[0] != "24" {
			return fmt.Errorf("record is 16 or 24 and comes first")
		}
		c.RecordSize, _ = strconv.Atoi(args[0])
	case "padding":
		if err := need(1, 1); err != nil {
			return err
		}
		v, err := number(args[0], 8)
		c.padding = byte(v)
		return err
	case "ours":
		c.ours = true
	case "start":
		c.start = strings.Join(args, " ")
	case "tick":
		if err := need(1, 1); err != nil {
			return err
		}
		v, err := number(args[0], 32)
		c.tick = uint32(v)
		if c.records == 0 {
			c.hasTick, c.atStart = true, c.tick
		}
		return err
	case "module":
		line, _, _ = strings.Cut(line, " # ")
		_, rest, _ := strings.Cut(line, "module")
		c.lines = append(c.lines, strings.TrimSpace(rest))
	case "name":
		if err := need(2, 2); err != nil {
			return err
		}
		v, err := number(args[1], 64)
		c.names[args[0]] = v
		return err
	case "run":
		if err := need(0, 1); err != nil {
			return err
		}
		if len(args) == 1 {
			v, err := number(args[0], 32)
			if err != nil {
				return err
			}
			c.tick = uint32(v)
		}
		c.lines, c.start = nil, ""
		c.hasTick, c.atStart = true, c.tick
	case "enter":
		return c.record(args, 1)
	case "leave":
		return c.record(args, 0)
	case "flag":
		if err := need(3, 4); err != nil {
			return err
		}
		v, err := number(args[0], 8)
		if err != nil {
			return err
		}
		return c.record(args[1:], byte(v))
	case "bytes":
		b, err := hex.DecodeString(strings.Join(args, ""))
		c.Log = append(c.Log, b...)
		return err
	case "drop":
		if err := need(1, 1); err != nil {
			return err
		}
		v, err := number(args[0], 31)
		if err != nil || int(v) > len(c.Log) {
			return fmt.Errorf("cannot drop %s of %d bytes", args[0], len(c.Log))
		}
		c.Log = c.Log[:len(c.Log)-int(v)]
	default:
		return fmt.Errorf("unknown instruction %q", f[0])
	}
	return nil
}

func (c *compiler) record(args []string, flag byte) error {
	if len(args) < 2 || len(args) > 3 {
		return fmt.Errorf("want thread, address and perhaps a time")
	}
	thread, err := number(strings.TrimPrefix(args[0], "t"), 32)
	if err != nil {
		return err
	}
	address, err := c.address(args[1])
	if err != nil {
		return err
	}
	if len(args) == 3 {
		v, err := number(args[2][1:], 32)
		if err != nil {
			return err
		}
		switch args[2][0] {
		case '+':
			c.tick += uint32(v)
		case '@':
			c.tick = uint32(v)
		default:
			return fmt.Errorf("a time is +N or @N")
		}
	}
	c.Log = AppendRecord(c.Log, c.RecordSize, address, uint32(thread), c.tick, flag, c.padding)
	c.records++
	return nil
}

func (c *compiler) address(s string) (uint64, error) {
	s, plus, has := strings.Cut(s, "+")
	v, ok := c.names[s]
	if !ok {
		var err error
		if v, err = number(s, 64); err != nil {
			return 0, fmt.Errorf("%q is neither a number nor a name", s)
		}
	}
	if has {
		d, err := number(plus, 64)
		if err != nil {
			return 0, err
		}
		v += d
	}
	return v, nil
}

// Write compiles the text and writes the files into a folder, under
// [LogName] and [ModulesName]; modulesPath is "" where there is no such file.
func Write(dir, text string) (logPath, modulesPath string, err error) {
	f, err := Compile(text)
	if err != nil {
		return "", "", err
	}
	logPath = filepath.Join(dir, LogName)
	if err := os.WriteFile(logPath, f.Log, 0o666); err != nil {
		return "", "", err
	}
	if f.Modules == nil {
		return logPath, "", nil
	}
	modulesPath = filepath.Join(dir, ModulesName)
	return logPath, modulesPath, os.WriteFile(modulesPath, f.Modules, 0o666)
}

// Text turns a binary log into text that [Compile] turns back into the same
// bytes. A record whose padding bytes differ is given as bytes.
func Text(log []byte, recordSize int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "record %d\n", recordSize)
	var tick uint32
	padding := byte(0)
	for ; len(log) >= recordSize; log = log[recordSize:] {
		r := log[:recordSize]
		address, rest := uint64(binary.LittleEndian.Uint32(r)), r[4:]
		if recordSize == 24 {
			address, rest = binary.LittleEndian.Uint64(r), r[8:]
		}
		thread, now, flag := binary.LittleEndian.Uint32(rest), binary.LittleEndian.Uint32(rest[4:]), rest[8]
		pad := rest[9:]
		if strings.Count(string(pad), string(pad[:1])) != len(pad) {
			fmt.Fprintf(&b, "bytes %x\n", r)
			continue
		}
		if pad[0] != padding {
			padding = pad[0]
			fmt.Fprintf(&b, "padding %#x\n", padding)
		}
		switch flag {
		case 0:
			b.WriteString("leave")
		case 1:
			b.WriteString("enter")
		default:
			fmt.Fprintf(&b, "flag %#x", flag)
		}
		fmt.Fprintf(&b, " t%d %#x", thread, address)
		switch {
		case now > tick:
			fmt.Fprintf(&b, " +%d", now-tick)
		case now < tick:
			fmt.Fprintf(&b, " @%d", now)
		}
		tick = now
		b.WriteByte('\n')
	}
	if len(log) > 0 {
		fmt.Fprintf(&b, "bytes %x\n", log)
	}
	return b.String()
}
