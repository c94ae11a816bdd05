package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
)

// A writer is a verb that writes a file.
type writer struct {
	// name is that of the file, args what the verb is called with: FILE stands for the file, DIR for its folder, the rest for inputs.
	name string
	args string
	// replaces: an existing file of the same kind is replaced without a question. inPlace: the file is an input, too.
	replaces, inPlace bool
	// fresh: the verb chooses a name that nothing has.
	fresh bool
}

var writers = []writer{
	{name: "o.csv", args: "save LOG -o FILE", replaces: true},
	{name: "o.html", args: "save LOG -o FILE", replaces: true},
	{name: "o.json", args: "save LOG -o FILE --format chrome", replaces: true},
	{name: "s.csv", args: "stats LOG -o FILE", replaces: true},
	{name: "t.csv", args: "tree LOG -o FILE", replaces: true},
	{name: "o.lppack", args: "pack LOG -o FILE", replaces: true},
	{name: "o.lpsym", args: "keep LOG -o FILE", replaces: true},
	{name: "o.lpvalues", args: "values PROGRAM -o FILE", replaces: true},
	{name: "o.sh", args: "probes PROGRAM * -o FILE", replaces: true},
	{name: "o.lpnames", args: "probes PROGRAM * -o DIR/o.sh", replaces: true},
	{name: "o.lptrace", args: "trace load TEXT FILE"},
	{name: "README.md", args: "recorder init DIR"},
	{name: "REPORT", args: "crash --report DIR CRASHED", fresh: true},
	{name: "prog", args: "attach FILE", inPlace: true, replaces: true},
	{name: "carries", args: "detach FILE", inPlace: true, replaces: true},
}

// A place is where a test of writers has its files, and for whom.
type place struct {
	t *testing.T
	// top is the folder of all, inputs those files that verbs read.
	top    string
	inputs map[string]string
	exe    string
	// user is who runs the verbs, nil for the one who runs the tests.
	user *syscall.Credential
}

// nobody is a user that has nothing.
const nobody = 65534

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// newPlace makes the inputs, for all to read.
func newPlace(t *testing.T, user *syscall.Credential) *place {
	t.Helper()
	p := &place{t: t, user: user, inputs: make(map[string]string)}
	dir := t.TempDir()
	p.top = filepath.Join(dir, "w")
	check(t, os.Chmod(filepath.Dir(dir), 0o755), os.Mkdir(p.top, 0o755), os.CopyFS(filepath.Join(p.top, "log"), os.DirFS(sampleDir)))
	exe, err := os.Executable()
	check(t, err)
	p.exe = filepath.Join(p.top, "logparse")
	if os.Link(exe, p.exe) != nil {
		b, err := os.ReadFile(exe)
		check(t, err, os.WriteFile(p.exe, b, 0o755))
	}
	check(t, os.Chmod(p.exe, 0o755))
	p.inputs["LOG"] = filepath.Join(p.top, "log")
	p.inputs["PROGRAM"] = filepath.Join(p.top, "log", "logtest")
	p.inputs["TEXT"] = filepath.Join(p.top, "text")
	p.inputs["CRASHED"] = filepath.Join(p.top, "crashed.lptrace")
	check(t, os.WriteFile(p.inputs["TEXT"], []byte("file begin=1000\nchunk events stream=1 thread=7 base=1000\nenter @1100 entry 0x400010\nleave @4000\n"), 0o644),
		os.WriteFile(p.inputs["CRASHED"], tracetest.Crashed(tracetest.Smashed()), 0o644), os.Chmod(p.inputs["PROGRAM"], 0o755))
	return p
}

// folder makes a folder of the user's.
func (p *place) folder() string {
	dir, err := os.MkdirTemp(p.top, "d")
	check(p.t, err, os.Chmod(dir, 0o755))
	if p.user != nil {
		check(p.t, os.Chown(dir, int(p.user.Uid), int(p.user.Gid)))
	}
	return dir
}

// mine gives a path to the user.
func (p *place) mine(path string) {
	if p.user != nil {
		check(p.t, os.Lchown(path, int(p.user.Uid), int(p.user.Gid)))
	}
}

// command is the verb that writes dir/name, by a shell line before it.
func (p *place) command(w *writer, dir, before string) *exec.Cmd {
	list := []string{"-c", before + ` exec "$0" "$@"`, p.exe}
	for _, word := range strings.Fields(w.args) {
		word = strings.ReplaceAll(strings.ReplaceAll(word, "FILE", filepath.Join(dir, w.name)), "DIR", dir)
		if input, ok := p.inputs[word]; ok {
			word = input
		}
		list = append(list, word)
	}
	cmd := exec.Command("/bin/sh", list...)
	cache, tmp := filepath.Join(p.top, "cache"), filepath.Join(p.top, "tmp")
	os.Mkdir(cache, 0o700)
	os.Mkdir(tmp, 0o700)
	p.mine(cache)
	p.mine(tmp)
	cmd.Env = append(os.Environ(), asCommand+"=1", "HOME="+cache, "XDG_CACHE_HOME="+cache, "TMPDIR="+tmp)
	cmd.Dir = p.top
	if p.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user}
	}
	return cmd
}

// input puts the file there that a verb changes.
func (p *place) input(w *writer, dir string) []byte {
	if !w.inPlace {
		return nil
	}
	path := filepath.Join(dir, w.name)
	b, err := os.ReadFile(p.inputs["PROGRAM"])
	check(p.t, err, os.WriteFile(path, b, 0o755))
	p.mine(path)
	if w.name == "carries" {
		if out, err := p.command(&writer{name: w.name, args: "attach FILE"}, dir, "").CombinedOutput(); err != nil {
			p.t.Fatalf("%v: %s", err, out)
		}
		b, err = os.ReadFile(path)
		check(p.t, err)
	}
	return b
}

// names are those of a folder's files, and what is not whole among them.
func names(t *testing.T, dir string) (all []string, unfinished int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			all = append(all, path)
			if strings.HasPrefix(d.Name(), ".logparser-") {
				unfinished++
			}
		}
		return err
	})
	check(t, err)
	return all, unfinished
}

// as runs a test for each user that there is.
func as(t *testing.T, run func(t *testing.T, p *place)) {
	if os.Geteuid() == 0 {
		t.Run("root", func(t *testing.T) { run(t, newPlace(t, nil)) })
		t.Run("user", func(t *testing.T) { run(t, newPlace(t, &syscall.Credential{Uid: nobody, Gid: nobody})) })
		return
	}
	t.Run("user", func(t *testing.T) { run(t, newPlace(t, nil)) })
}

// TestWriters has each verb that writes meet what can be in its way.
func TestWriters(t *testing.T) {
	as(t, func(t *testing.T, p *place) {
		for i := range writers {
			w := &writers[i]
			t.Run(strings.Fields(w.args)[0]+" "+w.name, func(t *testing.T) {
				p.t = t
				p.wellDone(w)
				p.fullDisk(w)
				p.kill(w)
				if !w.fresh {
					p.link(w)
					p.pipe(w)
					p.otherKind(w)
				}
				p.foreign(w)
			})
		}
	})
}

// run returns the status, and what was said.
func (p *place) run(cmd *exec.Cmd) (status int, said string) {
	p.t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// wellDone: the file is there, and a second time, too, or it is said what is.
func (p *place) wellDone(w *writer) {
	dir := p.folder()
	p.input(w, dir)
	if status, said := p.run(p.command(w, dir, "")); status != exitOK {
		p.t.Errorf("status %d: %s", status, said)
	}
	all, unfinished := names(p.t, dir)
	if len(all) == 0 || unfinished > 0 {
		p.t.Errorf("there are %q", all)
	}
}

// fullDisk: nothing can be written. What was there is as it was, and nothing else is there.
func (p *place) fullDisk(w *writer) {
	dir := p.folder()
	old := p.input(w, dir)
	status, said := p.run(p.command(w, dir, "ulimit -f 0;"))
	if status == exitOK {
		p.t.Errorf("no byte can be written, and all is well: %s", said)
	}
	all, unfinished := names(p.t, dir)
	want := 0
	if w.inPlace {
		want = 1
		if now, err := os.ReadFile(filepath.Join(dir, w.name)); err != nil || !bytes.Equal(now, old) {
			p.t.Errorf("on a full disk the file is another: %v", err)
		}
	}
	if len(all) != want || unfinished > 0 {
		p.t.Errorf("on a full disk there are %q", all)
	}
}

// kill: at any time the file is what it was, or whole.
func (p *place) kill(w *writer) {
	dir := p.folder()
	path := filepath.Join(dir, w.name)
	old := p.input(w, dir)
	if !w.inPlace && !w.fresh && w.replaces {
		if status, said := p.run(p.command(w, dir, "")); status != exitOK {
			p.t.Fatal(said)
		}
		var err error
		old, err = os.ReadFile(path)
		check(p.t, err)
	}
	for _, after := range []time.Duration{30, 90, 150} {
		cmd := p.command(w, dir, "")
		check(p.t, cmd.Start())
		time.Sleep(after * time.Millisecond)
		cmd.Process.Kill()
		cmd.Wait()
		now, err := os.ReadFile(path)
		switch {
		case w.inPlace:
			// Changed or not, it is a program that the same verb, or its opposite, still knows.
			if err != nil || len(now) < len(old)/2 || !bytes.HasPrefix(now, []byte("\x7fELF")) {
				p.t.Errorf("killed after %d ms it has %d of %d bytes, %v", after, len(now), len(old), err)
			}
		case old != nil && (err != nil || !bytes.Equal(now, old)):
			p.t.Errorf("killed after %d ms it has %d bytes and not %d, %v", after, len(now), len(old), err)
		}
	}
}

// link: the name is that of a link to a file, which is not written, nor is the link.
func (p *place) link(w *writer) {
	dir := p.folder()
	path, victim := filepath.Join(dir, w.name), filepath.Join(p.folder(), "victim")
	old := []byte("precious")
	if w.inPlace {
		old = p.input(w, dir)
		check(p.t, os.Rename(path, victim))
	} else {
		check(p.t, os.WriteFile(victim, old, 0o644))
	}
	check(p.t, os.Symlink(victim, path))
	p.mine(victim)
	p.mine(path)
	cmd := p.command(w, dir, "")
	if status, said := p.run(cmd); status == exitOK || !strings.Contains(said, "link") && !strings.Contains(said, "--force") && !strings.Contains(said, "--replace") {
		p.t.Errorf("of a link it says with status %d: %s", status, said)
	}
	if !w.inPlace {
		cmd = p.command(w, dir, "")
		force := "--replace"
		if strings.Contains(w.args, " -o ") {
			force = "--force"
		}
		cmd.Args = append(cmd.Args, force)
		if status, said := p.run(cmd); status == exitOK || !strings.Contains(said, "link") {
			p.t.Errorf("of a link it says with %s and status %d: %s", force, status, said)
		}
	}
	if now, err := os.ReadFile(victim); err != nil || !bytes.Equal(now, old) {
		p.t.Errorf("it was written through a link: %v", err)
	}
	if to, err := os.Readlink(path); err != nil || to != victim {
		p.t.Errorf("the link is another: %q, %v", to, err)
	}
}

// pipe: the name is that of a pipe, which somebody reads. It stays one.
func (p *place) pipe(w *writer) {
	dir := p.folder()
	path := filepath.Join(dir, w.name)
	check(p.t, syscall.Mkfifo(path, 0o644))
	p.mine(path)
	reader, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0) // for writing, too, so that it has no end
	check(p.t, err)
	read := make(chan bool)
	go func() {
		io.Copy(io.Discard, reader)
		close(read)
	}()
	cmd := p.command(w, dir, "")
	ended := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	status, said := p.run(cmd)
	if !ended.Stop() {
		p.t.Errorf("of a pipe it did not come to an end")
	}
	if status == exitOK && w.inPlace {
		p.t.Errorf("a pipe was taken for a program: %s", said)
	}
	reader.Close()
	<-read
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		p.t.Errorf("the pipe is none any more: %v", err)
	}
}

// otherKind: the name is that of a file of another kind, which is not replaced unasked.
func (p *place) otherKind(w *writer) {
	dir := p.folder()
	path := filepath.Join(dir, w.name)
	old := []byte("#!/bin/sh\necho precious\n")
	check(p.t, os.WriteFile(path, old, 0o755))
	p.mine(path)
	status, said := p.run(p.command(w, dir, ""))
	if status == exitOK || !w.inPlace && !strings.Contains(said, "--force") && !strings.Contains(said, "--replace") {
		p.t.Errorf("of a file of another kind it says with status %d: %s", status, said)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, old) {
		p.t.Errorf("a file of another kind was replaced: %v", err)
	}
	if all, _ := names(p.t, dir); len(all) != 1 {
		p.t.Errorf("there are %q", all)
	}
}

// foreign: the folder belongs to another user, who has put a link on the way. Root is not led there; a user cannot write anyway.
func (p *place) foreign(w *writer) {
	if os.Geteuid() != 0 {
		return // who has another user's folder?
	}
	secret, theirs := p.folder(), p.folder()
	other := 12345
	if p.user != nil {
		other = 0
	}
	p.input(w, secret)
	before, _ := names(p.t, secret)
	check(p.t, os.Chown(secret, other, other), os.Chown(theirs, other, other), os.Chmod(secret, 0o755))
	way := filepath.Join(theirs, "way")
	check(p.t, os.Symlink(secret, way), os.Lchown(way, other, other))
	status, said := p.run(p.command(w, way, ""))
	if status == exitOK {
		p.t.Errorf("it was led into a folder of another user: %s", said)
	}
	if all, _ := names(p.t, secret); len(all) != len(before) {
		p.t.Errorf("in the folder of another user there are %q: %s", all, said)
	}
}
