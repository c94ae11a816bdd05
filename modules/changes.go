package modules

import (
	"strconv"
	"strings"

	"logparser/message"
)

// How our modules file says that modules came and went while it was recorded: in
// comments, which older readers pass over.
//
//	# came TICK BYTE        the modules in the lines that follow were found loaded, when
//	                        the log had so many bytes
//	# gone TICK BYTE BASE   the module that was listed last at the base was found unloaded
//	# copied TICK           a forked child copied the lines above: for its log they hold
//	                        from the first byte on
//
// The byte decides, since many records can have one tick. A module keeps its addresses until
// another one comes there, so that "gone" changes nothing: it is for people.
const (
	cameWord   = "# came "
	copiedWord = "# copied "
)

// change takes in a comment of our own file, if it tells that modules came.
func (p *scanner) change(number int, line string) {
	if strings.HasPrefix(line, copiedWord) {
		// They keep their order: the last that came to an address has it.
		p.copied += p.came + 1
		p.came = 0
		return
	}
	numbers, ok := strings.CutPrefix(line, cameWord)
	if !ok {
		return
	}
	_, bytes, _ := strings.Cut(numbers, " ")
	at, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil || at < p.came {
		p.reject(number, line, message.Textf("does not say from where on the modules that follow were there"))
		return
	}
	p.came = at
}

// setCame notes since when the module that was added last was there.
func (p *scanner) setCame(at int64) {
	f := &p.file
	if at == 0 && f.Came == nil {
		return
	}
	for len(f.Came) < len(f.Modules) {
		f.Came = append(f.Came, 0)
	}
	f.Came[len(f.Modules)-1] = at
}

// cameTogether reports whether modules i and k were there at one time as far as their lines say.
func (f *File) cameTogether(i, k int) bool { return f.Came == nil || f.Came[i] == f.Came[k] }
