//go:build amd64 || arm64

package uprobe

import (
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"logparser/calls/values"
	"logparser/message"
	"logparser/parser"
	"logparser/recorder/probe"
)

// A Session is a set of probes in the kernel. Close removes them.
type Session struct {
	maps
	probes []probe.Probe
	values [][]values.Value // by probe
	// ends has, by probe, where in an entry the values of the end of the call begin if a hit is the end as well; else 0.
	ends     []int
	programs []*ebpf.Program
	links    []link.Link
	reader   *ringbuf.Reader
}

// ringSize is the size of the ring buffer in bytes.
const ringSize = 32 << 20

// maxFollowed bounds the processes of a session.
const maxFollowed = 1 << 16

// Start sets the probes of a plan, all of which then begin to record at once. Only the hits of the processes that who chooses are given to Run.
func Start(plan *probe.Plan, take []values.Module, who Who) (s *Session, err error) {
	s = &Session{probes: plan.Probes}
	defer func() {
		if err != nil {
			s.Close()
			s = nil
		}
	}()
	if err := s.makeMaps(who); err != nil {
		return s, err
	}
	exe, err := link.OpenExecutable(plan.Path)
	if err != nil {
		return s, err
	}
	groups := make(map[string]*group)
	var order []*group
	for i := range s.probes {
		p := &s.probes[i]
		list := valuesOf(take, p)
		s.values, s.ends = append(s.values, list), append(s.ends, 0)
		if p.AtEnter {
			continue // its hits are those of the probe before it
		}
		form := shapeOf(list, p.Kind == parser.Leave, plan.ReturnAddress())
		if i+1 < len(s.probes) && s.probes[i+1].AtEnter {
			s.ends[i] = form.size
			form = shapeOf(slices.Concat(list, valuesOf(take, &s.probes[i+1])), false, plan.ReturnAddress())
		}
		returning := p.Kind == parser.Leave && !p.AtReturn
		key := form.key() + strconv.FormatBool(returning)
		g := groups[key]
		if g == nil {
			if len(groups) >= maxShapes {
				return s, message.Errorf("the functions take values in more than %d different ways: choose fewer", maxShapes)
			}
			g = &group{shape: form, returning: returning}
			groups[key] = g
			order = append(order, g)
		}
		g.offsets, g.cookies = append(g.offsets, p.Offset), append(g.cookies, uint64(i))
	}
	if s.reader, err = ringbuf.NewReader(s.ring); err != nil {
		return s, refused(err)
	}
	if s.processes != nil {
		if err := s.followForks(); err != nil {
			return s, err
		}
	}
	for _, g := range order {
		if err := s.attach(exe, g); err != nil {
			return s, err
		}
	}
	return s, s.counts.Put(uint32(openEntry), uint64(1))
}

// maxShapes bounds the programs of a session.
const maxShapes = 2000

// A group is the probes that share an eBPF program.
type group struct {
	shape
	returning bool
	offsets   []uint64
	cookies   []uint64
}

func (s *Session) makeMaps(who Who) (err error) {
	if !who.All {
		s.processes, err = ebpf.NewMap(&ebpf.MapSpec{Name: "lp_processes", Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: maxFollowed})
		if err != nil {
			return refused(err)
		}
		for _, pid := range who.PIDs {
			if err := s.processes.Put(pid, uint32(wanted)); err != nil {
				return err
			}
		}
		if who.Children {
			if err := s.processes.Put(uint32(os.Getpid()), uint32(parent)); err != nil {
				return err
			}
		}
	}
	if s.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "lp_ring", Type: ebpf.RingBuf, MaxEntries: ringSize}); err != nil {
		return refused(err)
	}
	s.counts, err = ebpf.NewMap(&ebpf.MapSpec{Name: "lp_counts", Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 2})
	return refused(err)
}

// license is the license of the assembled programs. The kernel allows some of the functions that they call
// only to programs under the GPL.
const license = "GPL"

// attach loads the program of a group and sets its probes: all at once if the kernel can (since 6.6),
// otherwise one after the other. A program that reads memory is one that may sleep, if the kernel has such (since 6.0).
func (s *Session) attach(exe *link.Executable, g *group) error {
	if g.reads() {
		err := s.attachProgram(exe, g, true)
		if err == nil || errors.Is(err, ErrRights) {
			return err
		}
	}
	return s.attachProgram(exe, g, false)
}

func (s *Session) attachProgram(exe *link.Executable, g *group, faults bool) error {
	spec := &ebpf.ProgramSpec{Name: "lp_probe", Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, Instructions: s.program(&g.shape, faults), License: license}
	if faults {
		spec.Flags = unix.BPF_F_SLEEPABLE
	}
	if p, err := ebpf.NewProgram(spec); err == nil {
		s.programs = append(s.programs, p)
		set := exe.UprobeMulti
		if g.returning {
			set = exe.UretprobeMulti
		}
		l, err := set(nil, p, &link.UprobeMultiOptions{Addresses: g.offsets, Cookies: g.cookies})
		if err == nil {
			s.links = append(s.links, l)
			return nil
		}
		if !errors.Is(err, ebpf.ErrNotSupported) {
			return refused(err)
		}
	}
	spec.AttachType = ebpf.AttachNone
	p, err := ebpf.NewProgram(spec)
	if err != nil {
		return refused(err)
	}
	s.programs = append(s.programs, p)
	before := len(s.links)
	for i, offset := range g.offsets {
		set := exe.Uprobe
		if g.returning {
			set = exe.Uretprobe
		}
		l, err := set("", p, &link.UprobeOptions{Address: offset, Cookie: g.cookies[i]})
		if err != nil {
			s.links = closeAll(s.links, before)
			return refused(err)
		}
		s.links = append(s.links, l)
	}
	return nil
}

// followForks loads the program that adds children of recorded processes, so that they are recorded from
// their first instruction on.
func (s *Session) followForks() error {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return message.Errorf("the kernel does not describe its types (/sys/kernel/btf/vmlinux), so that processes cannot be told: %w", err)
	}
	var task *btf.Struct
	if err := kernel.TypeByName("task_struct", &task); err != nil {
		return err
	}
	tgid := int32(-1)
	for _, m := range task.Members {
		if m.Name == "tgid" {
			tgid = int32(m.Offset.Bytes())
		}
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "lp_fork", Type: ebpf.RawTracepoint, Instructions: s.fork(tgid), License: license})
	if err != nil {
		return refused(err)
	}
	s.programs = append(s.programs, p)
	l, err := link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_process_fork", Program: p})
	if err != nil {
		return refused(err)
	}
	s.links = append(s.links, l)
	return nil
}

// valuesOf returns the values that the plan takes at a probe.
func valuesOf(take []values.Module, p *probe.Probe) []values.Value {
	for i := range take {
		if f := take[i].Function(p.Function.RVA); f != nil && f.RVA == p.Function.RVA {
			if p.Kind == parser.Leave {
				return f.Leave
			}
			return f.Enter
		}
	}
	return nil
}

// Run calls visit for each hit, until Stop was called and all hits are read. It also calls keep every
// half second or so, even if there are no hits. An error of either ends it.
func (s *Session) Run(visit func(h *Hit) error, keep func() error) error {
	var r ringbuf.Record
	next := time.Now().Add(keepEvery)
	s.reader.SetDeadline(next)
	for n := 0; ; n++ {
		err := s.reader.ReadInto(&r)
		late := errors.Is(err, os.ErrDeadlineExceeded)
		if late || n%4096 == 0 && time.Now().After(next) {
			if err := keep(); err != nil {
				return err
			}
			next = time.Now().Add(keepEvery)
			s.reader.SetDeadline(next)
			if late {
				continue
			}
		}
		switch {
		case errors.Is(err, ringbuf.ErrFlushed), errors.Is(err, ringbuf.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		b := r.RawSample
		if len(b) < headSize {
			continue
		}
		le := binary.LittleEndian
		h := Hit{Time: le.Uint64(b[headTime:]), TID: le.Uint32(b[headThread:]), PID: le.Uint32(b[headThread+4:]), IP: le.Uint64(b[headIP:]), SP: le.Uint64(b[headSP:])}
		n := le.Uint64(b[headProbe:])
		if n >= uint64(len(s.probes)) {
			continue
		}
		if h.Probe = &s.probes[n]; h.Probe.Function.Go {
			h.Stack = le.Uint64(b[headStack:])
		}
		if list := s.values[n]; len(list) > 0 {
			h.Values = payload(list, b, headSize)
		}
		if err := visit(&h); err != nil {
			return err
		}
		if at := s.ends[n]; at > 0 {
			h.Probe, h.Values = &s.probes[n+1], nil
			if list := s.values[n+1]; len(list) > 0 {
				h.Values = payload(list, b, at)
			}
			if err := visit(&h); err != nil {
				return err
			}
		}
	}
}

// keepEvery is the time between two calls of keep.
const keepEvery = 500 * time.Millisecond

// Stop removes the probes. Run ends when it has read the hits that are left in the ring buffer.
func (s *Session) Stop() error {
	err := s.counts.Put(uint32(openEntry), uint64(0))
	s.detach()
	return errors.Join(err, s.reader.Flush())
}

// patience is how long removing the probes waits for one of them.
const patience = 2 * time.Second

// detach removes the probes. The kernel waits for the programs that run. One may sleep for as long as a page of the recorded program does not
// come, of a file on a server, or by userfaultfd: removing them then goes on by itself.
func (s *Session) detach() {
	links := s.links
	s.links = nil
	closed := make(chan struct{}, len(links))
	go func() {
		for _, l := range links {
			l.Close()
			closed <- struct{}{}
		}
	}()
	for range links {
		select {
		case <-closed:
		case <-time.After(patience):
			return
		}
	}
}

// closeAll closes the links from one on, and returns those before it.
func closeAll(links []link.Link, from int) []link.Link {
	for _, l := range links[from:] {
		l.Close()
	}
	return links[:from]
}

// Lost returns how many hits were lost because the ring buffer was full.
func (s *Session) Lost() (n uint64) {
	_ = s.counts.Lookup(uint32(lostEntry), &n)
	return n
}

// Close removes the probes and frees the programs and maps.
func (s *Session) Close() {
	s.detach()
	if s.reader != nil {
		s.reader.Close()
	}
	for _, p := range s.programs {
		p.Close()
	}
	for _, m := range []*ebpf.Map{s.processes, s.ring, s.counts} {
		if m != nil {
			m.Close()
		}
	}
}

// refused adds what this process lacks to an error with which the kernel refuses.
func refused(err error) error {
	if err == nil || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
		return err
	}
	// The verifier returns EACCES as well, together with its reason.
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) && len(verifier.Log) > 0 {
		return err
	}
	return message.Errorf("%w: %v", ErrRights, missing())
}

// missing says which rights this process would need.
func missing() message.Text {
	status, _ := os.ReadFile("/proc/self/status")
	var lacks []string
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			for _, c := range []struct {
				bit  uint
				name string
			}{{unix.CAP_BPF, "CAP_BPF"}, {unix.CAP_PERFMON, "CAP_PERFMON"}} {
				if bits&(1<<c.bit) == 0 && bits&(1<<unix.CAP_SYS_ADMIN) == 0 {
					lacks = append(lacks, c.name)
				}
			}
		}
	}
	if len(lacks) == 0 {
		return message.Textf("the kernel forbids it (a container, or lockdown)")
	}
	return message.Textf("this process has no %s, which root has", strings.Join(lacks, ", "))
}
