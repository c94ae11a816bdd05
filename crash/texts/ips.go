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
	// frame is the number of the next frame in its list.
	frame uint64
	// offset and image are the values read so far of an incomplete frame.
	offset, image       uint64
	hasOffset, hasImage bool
	start, end          int // position of the offset in the line, 0 if it was in an earlier line
}

// readApple reads the frames of a report. A line may have many frames:
//
//	"threads" : [{"id":7,"frames":[{"imageOffset":80676,"symbol":"f","symbolLocation":80,"imageIndex":2},…
//
// The numbers are decimal. The first frame of a list is exact, but not that of the place where an
// exception was thrown.
func (r *Reader) readApple(line string) bool {
	a := r.apple
	if a == nil {
		return false
	}
	a.start, a.end = 0, 0
	c := scanner{s: line}
	for {
		if _, ok := c.to(`"`); !ok {
			return true
		}
		key, ok := c.to(`"`)
		if !ok {
			return true
		}
		c.blanks()
		if !c.text(":") {
			continue
		}
		c.blanks()
		switch key {
		case "frames":
			a.frame, a.hasOffset, a.hasImage = 0, false, false
		case "lastExceptionBacktrace":
			a.frame, a.hasOffset, a.hasImage = 1, false, false
		case "imageOffset", "imageIndex":
			from := c.pos
			n, ok := c.decimal()
			if !ok {
				continue
			}
			if key == "imageOffset" {
				a.offset, a.hasOffset, a.start, a.end = n, true, from, c.pos
			} else {
				a.image, a.hasImage = n, true
			}
			if a.hasOffset && a.hasImage {
				r.appleFrame(from, c.pos)
			}
		default:
			// Skip strings, because they may contain anything.
			if c.text(`"`) {
				for c.pos < len(line) && line[c.pos] != '"' {
					if line[c.pos] == '\\' {
						c.pos++
					}
					c.pos++
				}
				c.pos = min(c.pos+1, len(line))
			}
		}
	}
}

// appleFrame adds a complete frame. Its offset may have been in an earlier line.
func (r *Reader) appleFrame(start, end int) {
	a := r.apple
	if a.end > 0 {
		start, end = a.start, a.end
	}
	f := Reference{Start: start, End: end, Address: a.offset, Kind: r.kindOf(a.frame)}
	if a.image < uint64(len(a.images)) {
		if image := &a.images[a.image]; strings.TrimSpace(image.Path) != "" {
			f.within(image.Path, a.offset, uuidIdentity(image.UUID))
			r.refs = append(r.refs, f)
		}
	}
	a.frame++
	a.hasOffset, a.hasImage, a.start, a.end = false, false, 0, 0
}
