package dwarf

import (
	"encoding/hex"
	"strings"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// altFile is the alternate file, to which dwz moves what several files share.
type altFile struct {
	once sync.Once
	src  *source
	err  error
}

var errNoAlternate = message.New("no alternate file")

func (a *altFile) close() error {
	if a.src == nil {
		return nil
	}
	return a.src.im.Close()
}

// alternate returns the source that the alternate forms in s refer to. Without
// the file, or with one of another build, what refers to it has no name here.
func (t *Table) alternate(s *source) (*source, error) {
	if s != t.src {
		return nil, errNoAlternate
	}
	t.alt.once.Do(func() { t.alt.src, t.alt.err = t.openAlternate() })
	return t.alt.src, t.alt.err
}

func (t *Table) openAlternate() (*source, error) {
	f := t.im.File()
	if t.im.AltLink == "" || t.im.AltBuildID == "" || f.Sibling == nil {
		return nil, errNoAlternate
	}
	// Distributions keep the file below the folder that the link climbs up to,
	// or by its build-id.
	names := []string{t.im.AltLink}
	if name := t.im.AltLink; strings.HasPrefix(name, "../") {
		for strings.HasPrefix(name, "../") {
			name = name[3:]
		}
		names = append(names, name)
	}
	if base := modules.BaseName(t.im.AltLink); base != t.im.AltLink {
		names = append(names, base)
	}
	if id := hex.EncodeToString([]byte(t.im.AltBuildID)); len(id) > 2 {
		names = append(names, ".build-id/"+id[:2]+"/"+id[2:]+".debug")
	}
	for _, name := range names {
		var im *image.Image
		_, err := f.Sibling(name, func(alt *symbols.File) bool {
			var err error
			if im, err = image.Open(alt); err != nil {
				return false
			}
			if im.Identity.BuildID != t.im.AltBuildID {
				im.FreeScratch()
				return false
			}
			return true
		})
		if err != nil {
			continue
		}
		src := newSource(im, false)
		src.readUnits()
		return src, nil
	}
	return nil, errNoAlternate
}
