package texts

import (
	"bytes"
	"encoding/json"
	"strings"

	"logparser/modules"
)

// IsAppleReport reports whether a text that begins with this line is a report of macOS or iOS in JSON (".ips"). The first line
// of such a report is a JSON object with the kind of the report.
func IsAppleReport(first []byte) bool {
	return len(first) > 0 && first[0] == '{' && bytes.Contains(first, []byte(`"bug_type"`))
}

// An appleImage is an image in such a report.
type appleImage struct {
	Base uint64 `json:"base"`
	Size uint64 `json:"size"`
	UUID string `json:"uuid"`
	Path string `json:"path"`
	Name string `json:"name"`
}

// maxAppleImages bounds the images of a report. A process has a few hundred.
const maxAppleImages = 1 << 14

// TakeAppleReport takes the images of a report before its lines are read, because the report lists them after the frames, which
// name them by number. It reports whether there are any.
func (r *Reader) TakeAppleReport(report []byte) bool {
	_, body, _ := bytes.Cut(report, []byte("\n"))
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		if key == "usedImages" {
			return r.takeAppleImages(d)
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

func (r *Reader) takeAppleImages(d *json.Decoder) bool {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	r.apple = &appleReport{}
	for d.More() && len(r.apple.images) < maxAppleImages {
		var image appleImage
		if d.Decode(&image) != nil {
			break
		}
		if image.Path == "" {
			image.Path = image.Name
		}
		r.apple.images = append(r.apple.images, image)
		if image.Path != "" && image.Base+image.Size > image.Base {
			r.Add(Mapping{Start: image.Base, End: image.Base + image.Size, Space: Linked, Module: image.Path, Identity: uuidIdentity(image.UUID)})
		}
	}
	return len(r.apple.images) > 0
}

// uuidIdentity returns the identity of an image of macOS. Its UUID is stored as if it were the first 16 bytes of a build-id, as
// crash reporters do in symbol files.
func uuidIdentity(text string) (id modules.Identity) {
	if g, err := modules.ParseGUID(text); err == nil && !g.IsZero() {
		id.BuildID = string(g[:])
	}
	return id
}

// An appleReport is the state of reading a report.
type appleReport struct {
	images []appleImage
	// open are the objects and lists that the text is in, and key is the last one that was read of the innermost.
	open []appleScope
	key  string
}

// An appleScope is an object or a list of a report.
type appleScope struct {
	list bool
	// key is what it is called in the object around it, "" in a list.
	key string
	// frame is, of a list of frames, the number of the next one.
	frame uint64
	// offset and image are what was read of an object that may be a frame; told says that it has both.
	offset, image             uint64
	hasOffset, hasImage, told bool
	start, end                int // position of the offset in the line, 0 if it was in an earlier line
}

// maxAppleDepth bounds the objects and lists within each other that are followed.
const maxAppleDepth = 64

// readApple reads the frames of a report. A line may have many frames, and a frame many lines:
//
//	"threads" : [{"id":7,"frames":[{"imageOffset":80676,"symbol":"f","symbolLocation":80,"imageIndex":2},…
//
// The numbers are decimal. An object with both is a frame, in whatever order they are. The first frame of a list is exact, but
// not that of the place where an exception was thrown.
func (r *Reader) readApple(line string) bool {
	a := r.apple
	if a == nil {
		return false
	}
	for i := range a.open {
		a.open[i].start, a.open[i].end = 0, 0
	}
	for c := (scanner{s: line}); c.pos < len(line); {
		b := line[c.pos]
		switch {
		case b == '"':
			text := c.jsonString()
			if c.blanks(); c.text(":") {
				a.key = text
			} else {
				a.key = "" // that was a value
			}
			continue
		case b == '{' || b == '[':
			if len(a.open) == maxAppleDepth {
				a.open = a.open[:0]
			}
			scope := appleScope{list: b == '[', key: a.key}
			if scope.key == "lastExceptionBacktrace" {
				scope.frame = 1
			}
			a.open, a.key = append(a.open, scope), ""
		case b == '}' || b == ']':
			if n := len(a.open); n > 0 {
				if of := a.open[n-1]; !of.list && n > 1 && a.open[n-2].list {
					a.open[n-2].frame++
				}
				a.open = a.open[:n-1]
			}
			a.key = ""
		case b >= '0' && b <= '9':
			from := c.pos
			if n, ok := c.decimal(); ok {
				r.appleNumber(n, from, c.pos)
				continue
			}
		}
		c.pos++
	}
	return true
}

// jsonString skips a string of JSON and returns what is in it, as it is written.
func (c *scanner) jsonString() string {
	from := c.pos + 1
	for c.pos = from; c.pos < len(c.s) && c.s[c.pos] != '"'; c.pos++ {
		if c.s[c.pos] == '\\' {
			c.pos++
		}
	}
	end := min(c.pos, len(c.s))
	c.pos = min(c.pos+1, len(c.s))
	return c.s[from:end]
}

// appleNumber takes a number, which may be one of a frame. The frame is told once both are known.
func (r *Reader) appleNumber(n uint64, start, end int) {
	a := r.apple
	key := a.key
	a.key = ""
	if len(a.open) == 0 {
		return
	}
	of := &a.open[len(a.open)-1]
	switch key {
	case "imageOffset":
		of.offset, of.hasOffset, of.start, of.end = n, true, start, end
	case "imageIndex":
		of.image, of.hasImage = n, true
	default:
		return
	}
	if !of.hasOffset || !of.hasImage || of.told || of.list {
		return
	}
	of.told = true
	number := uint64(1)
	if k := len(a.open) - 2; k >= 0 && a.open[k].list && (a.open[k].key == "frames" || a.open[k].key == "lastExceptionBacktrace") {
		number = a.open[k].frame
	}
	if of.end > 0 {
		start, end = of.start, of.end
	}
	f := Reference{Start: start, End: end, Address: of.offset, Kind: r.kindOf(number)}
	if of.image < uint64(len(a.images)) {
		if image := &a.images[of.image]; strings.TrimSpace(image.Path) != "" {
			f.within(image.Path, of.offset, uuidIdentity(image.UUID))
			r.refs = append(r.refs, f)
		}
	}
}
