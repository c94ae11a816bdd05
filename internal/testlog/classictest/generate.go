package classictest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Spec says what log [Generate] makes. Fields that are zero take the value
// in brackets. The same Spec gives the same bytes always and everywhere.
type Spec struct {
	// Records is the exact number of records; the calls still open at the end
	// stay open.
	Records int64
	// RecordSize is 16 or 24 bytes [24].
	RecordSize int
	// Threads is the number of threads [4]; their ids are multiples of 4
	// from FirstThread on [1000].
	Threads     int
	FirstThread uint32
	// Functions is the number of functions [1000], divided evenly between
	// the Modules [3].
	Functions, Modules int
	// MaxDepth bounds each thread's stack [40].
	MaxDepth int
	// StartTick is the counter when the log begins [100,000,000].
	StartTick uint32
	// PerMillisecond is how many records a millisecond holds [20].
	PerMillisecond int
	// Seed chooses the calls.
	Seed uint64
	// Padding is the value of the records' padding bytes.
	Padding byte
	// Truncated makes 16-byte records of a 64-bit program.
	Truncated bool
	// Tiny makes the program of tracers' benchmarks: threads that call a few
	// tiny functions in loops, and now and then one that calls itself.
	Tiny bool
}

func (s Spec) filled() Spec {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def(&s.RecordSize, 24)
	def(&s.Threads, 4)
	def(&s.Functions, 1000)
	def(&s.Modules, 3)
	def(&s.MaxDepth, 40)
	def(&s.PerMillisecond, 20)
	if s.FirstThread == 0 {
		s.FirstThread = 1000
	}
	if s.StartTick == 0 {
		s.StartTick = 100_000_000
	}
	return s
}

// functionSpacing is the distance between two functions in bytes.
const functionSpacing = 0x80

// A ModuleSpan is a module of a generated log.
type ModuleSpan struct {
	Base, Size uint64
	Path       string
}

// ModuleSpans returns the modules that the log's addresses lie in.
func (s Spec) ModuleSpans() []ModuleSpan {
	s = s.filled()
	wide := s.RecordSize == 24 || s.Truncated
	per := (s.Functions + s.Modules - 1) / s.Modules
	size := (uint64(per)*functionSpacing + 0x1000 + 0xfff) &^ 0xfff
	list := make([]ModuleSpan, s.Modules)
	for i := range list {
		m := ModuleSpan{Size: size, Path: fmt.Sprintf(`C:\generated\module%d.dll`, i)}
		step := (size + 0xffff) &^ 0xffff
		if wide {
			m.Base = 0x7ff6_1000_0000 + uint64(i)*step
		} else {
			m.Base = 0x1000_0000 + uint64(i)*step
		}
		if i == 0 {
			m.Path = `C:\generated\program.exe`
		}
		list[i] = m
	}
	return list
}

// Address returns the return address that records of function i carry.
func (s Spec) Address(i int) uint64 {
	s = s.filled()
	per := (s.Functions + s.Modules - 1) / s.Modules
	return s.ModuleSpans()[i/per].Base + 0x1000 + uint64(i%per)*functionSpacing + 0x15
}

// A generator makes records of threads that call functions of one fixed call
// graph: every function calls few others, again and again, as programs do.
type generator struct {
	Spec
	addresses []uint64
	callees   [][4]uint32
	threads   []generatedThread
	rng       splitMix
}

type generatedThread struct {
	id    uint32
	stack []uint32
}

// A splitMix is Steele, Lea and Flood's SplitMix64 generator, which is as fast
// as records are written.
type splitMix uint64

func (s *splitMix) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func newGenerator(s Spec) *generator {
	s = s.filled()
	g := &generator{Spec: s, rng: splitMix(s.Seed)}
	spans := s.ModuleSpans()
	per := (s.Functions + s.Modules - 1) / s.Modules
	g.addresses = make([]uint64, s.Functions)
	g.callees = make([][4]uint32, s.Functions)
	for i := range g.addresses {
		g.addresses[i] = spans[i/per].Base + 0x1000 + uint64(i%per)*functionSpacing + 0x15
		for k := range g.callees[i] {
			// Most call downwards; some recurse or call back.
			n := g.rng.next()
			if i+1 < s.Functions && n&7 != 0 {
				g.callees[i][k] = uint32(i + 1 + int(n>>8%uint64(s.Functions-i-1)))
			} else {
				g.callees[i][k] = uint32(n >> 8 % uint64(s.Functions))
			}
		}
	}
	g.threads = make([]generatedThread, s.Threads)
	for i := range g.threads {
		g.threads[i] = generatedThread{id: s.FirstThread + 4*uint32(i), stack: make([]uint32, 0, s.MaxDepth)}
	}
	return g
}

// Generate writes the log that the Spec describes.
func Generate(w io.Writer, s Spec) error {
	g := newGenerator(s)
	if g.Tiny {
		return g.tiny(w)
	}
	const blockRecords = 8192
	block := make([]byte, blockRecords*g.RecordSize)
	for i := range block {
		block[i] = g.Padding
	}
	used := 0
	tick := g.StartTick
	inTick := 0
	// The odds that a call is made rather than left, by depth: deeper calls
	// are likelier to return.
	odds := make([]uint64, g.MaxDepth+1)
	for depth := range odds {
		odds[depth] = 0xa000 - uint64(depth)*0x6000/uint64(g.MaxDepth)
	}
	odds[0], odds[g.MaxDepth] = 1<<16, 0
	for left := g.Records; left > 0; {
		// A thread runs for a while before another one does.
		n := g.rng.next()
		t := &g.threads[n%uint64(len(g.threads))]
		burst := min(left, int64(n>>32&0xff)+1)
		left -= burst
		for ; burst > 0; burst-- {
			n := g.rng.next()
			var function uint32
			var flag byte
			depth := len(t.stack)
			if n&0xffff < odds[depth] {
				flag = 1
				if depth == 0 {
					function = uint32(n >> 16 & (1<<32 - 1) % uint64(g.Functions))
				} else {
					// The first callee is called in loops.
					k := n >> 16 & 7
					if k > 3 {
						k = 0
					}
					function = g.callees[t.stack[depth-1]][k]
				}
				t.stack = append(t.stack, function)
			} else {
				function = t.stack[depth-1]
				t.stack = t.stack[:depth-1]
			}
			r := block[used : used+g.RecordSize]
			used += len(r)
			if len(r) == 24 {
				binary.LittleEndian.PutUint64(r, g.addresses[function])
				r = r[8:]
			} else {
				binary.LittleEndian.PutUint32(r, uint32(g.addresses[function]))
				r = r[4:]
			}
			binary.LittleEndian.PutUint32(r, t.id)
			binary.LittleEndian.PutUint32(r[4:], tick)
			r[8] = flag
			if inTick++; inTick >= g.PerMillisecond {
				inTick = 0
				tick++
			}
			if used == len(block) {
				if _, err := w.Write(block); err != nil {
					return err
				}
				used = 0
			}
		}
	}
	_, err := w.Write(block[:used])
	return err
}

// WriteModules writes the modules file that belongs to the log, in the
// recorder's form and without identities.
func WriteModules(w io.Writer, s Spec) error {
	s = s.filled()
	pointer := 8
	if s.RecordSize == 16 && !s.Truncated {
		pointer = 4
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# LogParser modules file 1: base size pointer-size identity timestamp path\n2026-11-21T11:22:33.456\n%d\n", s.StartTick)
	for _, m := range s.ModuleSpans() {
		fmt.Fprintf(b, "0x%016x 0x%08x %d - - %s\n", m.Base, m.Size, pointer, m.Path)
	}
	return b.Flush()
}

// WriteFiles writes log and modules file into a folder, under [LogName] and
// [ModulesName].
func WriteFiles(dir string, s Spec) (logPath, modulesPath string, err error) {
	write := func(name string, generate func(io.Writer, Spec) error) (string, error) {
		path := filepath.Join(dir, name)
		f, err := os.Create(path)
		if err != nil {
			return "", err
		}
		if err := generate(f, s); err != nil {
			f.Close()
			return "", err
		}
		return path, f.Close()
	}
	if logPath, err = write(LogName, Generate); err != nil {
		return "", "", err
	}
	modulesPath, err = write(ModulesName, WriteModules)
	return logPath, modulesPath, err
}
