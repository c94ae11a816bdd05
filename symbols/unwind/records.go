package unwind

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sort"
	"strconv"
	"strings"
	"sync"

	"logparser/message"
	"logparser/symbols"
)

// StackRecords are the unwind rules that Breakpad's symbol files carry: STACK CFI,
// which is call frame information as text, and STACK WIN, which is what a PDB says of x86
// frames. They are read when they are first needed. It is safe for concurrent use.
type StackRecords struct {
	file *symbols.File
	once sync.Once
	cfi  []stackRecord // STACK CFI INIT
	win  []stackRecord
}

// A stackRecord is the code that a record is about, and where the record is.
type stackRecord struct {
	start, end uint64
	off        int64
}

// Limits of symbol files' records.
const (
	maxRecordLine = 16 << 10
	maxRecords    = 8 << 20
	maxDeltas     = 4096
)

// NewStackRecords returns the records of a symbol file, which must stay open as
// long as they are used.
func NewStackRecords(f *symbols.File) *StackRecords { return &StackRecords{file: f} }

var errRecord = message.New("damaged STACK record")

// read finds all records.
func (r *StackRecords) read() {
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, 0, r.file.Size), 1<<17)
	var off int64
	for len(r.cfi)+len(r.win) < maxRecords {
		line, err := in.ReadSlice('\n')
		at := off
		off += int64(len(line))
		for errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			rest, err = in.ReadSlice('\n')
			off += int64(len(rest))
		}
		if bytes.HasPrefix(line, []byte("STACK ")) {
			r.add(strings.SplitN(string(line[:min(len(line), 80)]), " ", 7), at)
		}
		if err != nil {
			break
		}
	}
	for _, list := range [][]stackRecord{r.cfi, r.win} {
		sort.SliceStable(list, func(i, j int) bool { return list[i].start < list[j].start })
	}
}

func (r *StackRecords) add(f []string, at int64) {
	var start, size string
	var to *[]stackRecord
	switch {
	case len(f) >= 6 && f[1] == "CFI" && f[2] == "INIT":
		start, size, to = f[3], f[4], &r.cfi
	case len(f) >= 6 && f[1] == "WIN":
		start, size, to = f[3], f[4], &r.win
	default:
		return
	}
	a, err := strconv.ParseUint(start, 16, 64)
	n, err2 := strconv.ParseUint(size, 16, 64)
	if err == nil && err2 == nil && n > 0 && a+n > a {
		*to = append(*to, stackRecord{a, a + n, at})
	}
}

// find returns the innermost record of an RVA: of several that cover it the one that begins
// last.
func find(list []stackRecord, rva uint64) (stackRecord, bool) {
	const most = 64
	i := sort.Search(len(list), func(i int) bool { return list[i].start > rva })
	for n := 0; i > 0 && n < most; n++ {
		if i--; rva < list[i].end {
			return list[i], true
		}
	}
	return stackRecord{}, false
}

// caller implements [Rules].
func (r *StackRecords) caller(s *step) (caller, error) {
	r.once.Do(r.read)
	rva := s.frame.Lookup() - s.module.Base
	if rec, ok := find(r.cfi, rva); ok {
		return r.cfiCaller(s, rec, rva)
	}
	if rec, ok := find(r.win, rva); ok && s.Machine == X86 {
		return r.winCaller(s, rec)
	}
	return caller{}, errNoRule
}

// lines returns a reader of the file from a record on.
func (r *StackRecords) lines(at int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(r.file, at, r.file.Size-at), maxRecordLine)
}

// registerNumber returns the number of a register as records name it, -1 for none.
func registerNumber(m Machine, name string) int {
	name = strings.TrimPrefix(name, "$")
	switch {
	case m == ARM64 && name == "fp":
		return arm64FP
	case m == ARM64 && name == "lr":
		return arm64LR
	}
	for n := range maxRegisters {
		if name != "" && m.RegisterName(n) == name {
			return n
		}
	}
	return -1
}

// cfiCaller applies STACK CFI records: the first has the rules of a function's start, those
// behind it what changes at later addresses.
func (r *StackRecords) cfiCaller(s *step, rec stackRecord, rva uint64) (c caller, err error) {
	in := r.lines(rec.off)
	rules := make(map[string]string)
	for i := range maxDeltas {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return c, errRecord
		}
		f := strings.Fields(string(line))
		if len(f) < 4 || i == 0 && len(f) < 5 || f[0] != "STACK" || f[1] != "CFI" || i > 0 && f[2] == "INIT" {
			break
		}
		text := f[3:]
		if i == 0 {
			text = f[5:]
		} else if at, err := strconv.ParseUint(f[2], 16, 64); err != nil || at > rva {
			break
		}
		takeRules(rules, text)
		if err != nil {
			break
		}
	}
	e := postfix{s: s, values: make(map[string]uint64)}
	cfa, ok := e.evaluate(strings.Fields(rules[".cfa"]))
	if !ok {
		return c, message.Errorf("%w: expression %q", errRecord, rules[".cfa"])
	}
	e.values[".cfa"] = cfa
	pc, ok := e.evaluate(strings.Fields(rules[".ra"]))
	if !ok {
		return c, message.Errorf("%w: expression %q", errRecord, rules[".ra"])
	}
	c.registers, c.cfa, c.found = s.inherit(), cfa, ByCFI
	c.registers.Set(s.Machine.SP(), cfa)
	for name, rule := range rules {
		if n := registerNumber(s.Machine, name); n >= 0 {
			if v, ok := e.evaluate(strings.Fields(rule)); ok {
				c.registers.Set(n, v)
			} else {
				c.registers.Forget(n)
			}
		}
	}
	c.registers.Set(s.Machine.PC(), pc)
	return c, nil
}

// takeRules reads "name: expression name: expression…".
func takeRules(rules map[string]string, text []string) {
	name := ""
	for _, token := range text {
		if strings.HasSuffix(token, ":") {
			name = strings.TrimSuffix(token, ":")
			rules[name] = ""
		} else if name != "" {
			rules[name] = strings.TrimPrefix(rules[name]+" "+token, " ")
		}
	}
}

// A postfix evaluates expressions whose operators come behind their operands.
type postfix struct {
	s      *step
	values map[string]uint64
}

// evaluate returns the value that an expression leaves on the stack. Assignments change the
// values.
func (e *postfix) evaluate(tokens []string) (uint64, bool) {
	stack, ok := e.run(tokens)
	if !ok || len(stack) != 1 {
		return 0, false
	}
	return e.value(stack[0])
}

// run does the operations; what stays on the stack are tokens.
func (e *postfix) run(tokens []string) (stack []string, ok bool) {
	mask := e.s.Machine.mask()
	for _, token := range tokens {
		switch token {
		case "+", "-", "*", "/", "%", "@", "=":
			if len(stack) < 2 {
				return nil, false
			}
			left, right := stack[len(stack)-2], stack[len(stack)-1]
			stack = stack[:len(stack)-2]
			b, ok := e.value(right)
			if !ok {
				return nil, false
			}
			if token == "=" {
				e.values[left] = b
				continue
			}
			a, ok := e.value(left)
			if !ok || b == 0 && strings.Contains("/%@", token) {
				return nil, false
			}
			stack = append(stack, strconv.FormatUint(arithmetic(token[0], a, b)&mask, 10))
		case "^":
			if len(stack) == 0 {
				return nil, false
			}
			at, ok := e.value(stack[len(stack)-1])
			if !ok {
				return nil, false
			}
			v, ok := e.s.word(at)
			if !ok {
				return nil, false
			}
			stack[len(stack)-1] = strconv.FormatUint(v, 10)
		default:
			if len(stack) >= maxStack {
				return nil, false
			}
			stack = append(stack, token)
		}
	}
	return stack, true
}

func arithmetic(op byte, a, b uint64) uint64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '/':
		return a / b
	case '%':
		return a % b
	}
	return a / b * b // @ aligns
}

// value returns the value of a number, a variable or a register.
func (e *postfix) value(token string) (uint64, bool) {
	if v, ok := e.values[token]; ok {
		return v, true
	}
	if n := registerNumber(e.s.Machine, token); n >= 0 {
		return e.s.frame.Registers.Get(n)
	}
	if v, err := strconv.ParseInt(token, 10, 64); err == nil {
		return uint64(v) & e.s.Machine.mask(), true
	}
	v, err := strconv.ParseUint(token, 10, 64)
	return v, err == nil
}

// Kinds of STACK WIN records.
const winFrameData = 4

// winCaller applies a STACK WIN record:
//
//	STACK WIN type rva size prologue epilogue params saved locals max has-program program|uses-ebp
func (r *StackRecords) winCaller(s *step, rec stackRecord) (c caller, err error) {
	line, err := r.lines(rec.off).ReadSlice('\n')
	f := strings.SplitN(strings.TrimRight(string(line), "\r\n"), " ", 13)
	if errors.Is(err, bufio.ErrBufferFull) || len(f) < 13 {
		return c, errRecord
	}
	var n [9]uint64 // type, rva, size, prologue, epilogue, params, saved, locals, max
	for i := range n {
		if n[i], err = strconv.ParseUint(f[2+i], 16, 64); err != nil {
			return c, errRecord
		}
	}
	params, saved, locals := n[5], n[6], n[7]
	esp, ok := s.frame.Registers.Get(x86ESP)
	if !ok {
		return c, errNoRule
	}
	c.registers, c.found, c.parameters = s.inherit(), ByFrameData, params
	// What the frame called may have its arguments on the stack still.
	search, ok := s.searchReturn(esp + s.frame.parameters + saved + locals)
	if !ok {
		return c, errNoRule
	}
	if n[0] != winFrameData || f[11] != "1" {
		if f[11] == "0" && f[12] == "1" {
			if ebp, ok := s.word(esp + s.frame.parameters + saved - 8); ok {
				c.registers.Set(x86EBP, ebp)
			}
		}
		pc, _ := s.word(search)
		c.cfa = search + 4
		c.registers.Set(x86PC, pc)
		c.registers.Set(x86ESP, c.cfa)
		return c, nil
	}
	e := postfix{s: s, values: map[string]uint64{".cbParams": params, ".cbSavedRegs": saved, ".cbLocals": locals,
		".cbCalleeParams": s.frame.parameters, ".raSearch": search, ".raSearchStart": search}}
	if _, ok := e.run(strings.Fields(f[12])); !ok {
		return c, message.Errorf("%w: expression %q", errRecord, f[12])
	}
	for _, register := range []int{x86EBX, x86ESP, x86EBP, x86ESI, x86EDI, x86PC} {
		if v, ok := e.values["$"+X86.RegisterName(register)]; ok {
			c.registers.Set(register, v)
		}
	}
	c.cfa, _ = c.registers.Get(x86ESP)
	return c, nil
}

// searchReturn returns the address of the first of a few words from an address on that
// a call can have left.
func (s *step) searchReturn(at uint64) (uint64, bool) {
	const words = 4
	for i := range uint64(words) {
		if pc, ok := s.word(at + 4*i); ok && s.returnsTo(pc) {
			return at + 4*i, true
		}
	}
	_, ok := s.word(at)
	return at, ok
}
