// Package about reads what a PE says of itself: version, product and company out of its version resource, and who signed
// it. What it says is not checked; a signature is not verified.
//
// Its input is an [image.Image]; its output a [symbols.About]. The signature (Authenticode, PKCS #7) is read by
// github.com/saferwall/pe, which must not see a hostile file: it therefore gets a small PE that is made here, with nothing but
// the certificates, whose size and nesting have been checked, and it is recovered from panics. The version resource is read
// here: the library runs for ever where a table of texts has the length 0. The tests hold both against each other.
package about

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/saferwall/pe"
	"github.com/saferwall/pe/log"

	"logparser/symbols"
	"logparser/symbols/image"
)

const (
	// maxVersion and maxCertificates bound a version resource and the certificates that are looked at, in
	// bytes. Real ones have some 2 KiB and 40 KiB.
	maxVersion      = 64 << 10
	maxCertificates = 256 << 10
	// maxEntries bounds the entries of a folder of resources.
	maxEntries = 4096
	// maxText bounds what is shown of a text, in characters.
	maxText = 200

	versionType = 16 // RT_VERSION
)

// Of returns what an image says of itself. What is not there, or is damaged, is "".
func Of(im *image.Image) symbols.About {
	a := version(versionResource(im))
	if certificates := im.Certificates(maxCertificates); checkNesting(certificates) {
		a.Signer = signer(miniature(certificates))
	}
	return a
}

// signer returns whom the signature of a PE names, "" for nobody. The PE is one that was made here.
func signer(data []byte) (name string) {
	defer func() {
		if recover() != nil {
			name = ""
		}
	}()
	f, err := pe.NewBytes(data, &pe.Options{
		// What is checked against certificates of the system would start programs on Windows.
		DisableCertValidation: true, DisableSignatureValidation: true, Logger: silent{},
		OmitExportDirectory: true, OmitImportDirectory: true, OmitExceptionDirectory: true, OmitResourceDirectory: true, OmitRelocDirectory: true,
		OmitDebugDirectory: true, OmitArchitectureDirectory: true, OmitGlobalPtrDirectory: true, OmitTLSDirectory: true, OmitLoadConfigDirectory: true,
		OmitBoundImportDirectory: true, OmitIATDirectory: true, OmitDelayImportDirectory: true, OmitCLRHeaderDirectory: true, OmitCLRMetadata: true,
	})
	if err != nil || f.Parse() != nil || len(f.Certificates.Certificates) == 0 {
		return ""
	}
	c := &f.Certificates.Certificates[0]
	if of := c.Content.GetOnlySigner(); of != nil && of.Subject.CommonName != "" {
		return shown(of.Subject.CommonName)
	}
	return shown(c.Info.Subject)
}

// silent is a log that nothing is written to.
type silent struct{}

// Log implements log.Logger.
func (silent) Log(log.Level, ...any) error { return nil }

// shown returns a text as it can be shown: in one line, without control characters, not too long.
func shown(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "\u2026"
	}
	return text
}

// versionResource returns the first version resource of an image, nil for none.
func versionResource(im *image.Image) []byte {
	rva, size := im.ResourceDirectory()
	if rva == 0 || size < 16 {
		return nil
	}
	le := binary.LittleEndian
	at := uint64(rva)
	// Folders of types, of names, of languages.
	for level := range 3 {
		head, err := im.ReadRVA(at, 16)
		if err != nil {
			return nil
		}
		named, count := int64(le.Uint16(head[12:])), int64(le.Uint16(head[12:]))+int64(le.Uint16(head[14:]))
		if count == 0 || count > maxEntries {
			return nil
		}
		entries, err := im.ReadRVA(at+16, 8*count)
		if err != nil {
			return nil
		}
		if level == 0 {
			for entries = entries[8*named:]; len(entries) > 0 && le.Uint32(entries) != versionType; entries = entries[8:] {
			}
		}
		if level == 2 {
			// English, or no language, before others.
			const primary, english = 0x3ff, 9
			for e := entries; len(e) > 0; e = e[8:] {
				if id := le.Uint32(e) & primary; id == english || id == 0 {
					entries = e
					break
				}
			}
		}
		if len(entries) == 0 {
			return nil
		}
		next := le.Uint32(entries[4:])
		if isFolder := next>>31 == 1; isFolder != (level < 2) {
			return nil
		}
		at = uint64(rva) + uint64(next&0x7fffffff)
	}
	data, err := im.ReadRVA(at, 8)
	if err != nil {
		return nil
	}
	length := le.Uint32(data[4:])
	if length == 0 || length > maxVersion {
		return nil
	}
	b, err := im.ReadRVA(uint64(le.Uint32(data)), int64(length))
	if err != nil {
		return nil
	}
	return b
}

// version reads a version resource.
func version(b []byte) (a symbols.About) {
	const fixedSize, magic = 52, 0xfeef04bd
	le := binary.LittleEndian
	root := parseBlock(b)
	if root.name != "VS_VERSION_INFO" {
		return a
	}
	for _, info := range root.children {
		if info := parseBlock(info); info.name == "StringFileInfo" && len(info.children) > 0 {
			// The first language.
			for _, text := range parseBlock(info.children[0]).children {
				text := parseBlock(text)
				if to := map[string]*string{"FileVersion": &a.FileVersion, "ProductVersion": &a.ProductVersion, "ProductName": &a.Product,
					"CompanyName": &a.Company, "FileDescription": &a.Description}[text.name]; to != nil {
					*to = shown(wide(text.value))
				}
			}
			break
		}
	}
	if v := root.value; a.FileVersion == "" && len(v) >= fixedSize && le.Uint32(v) == magic {
		high, low := le.Uint32(v[8:]), le.Uint32(v[12:])
		a.FileVersion = fmt.Sprintf("%d.%d.%d.%d", high>>16, high&0xffff, low>>16, low&0xffff)
	}
	return a
}

// A block is a part of a version resource: u16 length, u16 length of the value, u16 1 if that is a text, the name up
// to a NUL, the value, blocks; each at a multiple of 4 bytes.
type block struct {
	name     string
	value    []byte
	children [][]byte
}

// parseBlock takes a block apart; it ends where it is damaged.
func parseBlock(b []byte) (out block) {
	const head = 6
	le := binary.LittleEndian
	if len(b) < head || int(le.Uint16(b)) < head || int(le.Uint16(b)) > len(b) {
		return out
	}
	length := int(le.Uint16(b[2:]))
	if le.Uint16(b[4:]) == 1 {
		length *= 2
	}
	b = b[:le.Uint16(b)]
	out.name = wide(b[head:])
	aligned := func(n int) int { return min((n+3)&^3, len(b)) }
	at := aligned(head + 2*len(utf16.Encode([]rune(out.name))) + 2)
	end := min(at+length, len(b))
	out.value = b[at:end]
	for at = aligned(end); len(b)-at >= head; {
		n := int(le.Uint16(b[at:]))
		if n < head || n > len(b)-at {
			break
		}
		out.children = append(out.children, b[at:at+n])
		at = aligned(at + n)
	}
	return out
}

// wide returns UTF-16 up to a NUL.
func wide(b []byte) string {
	var list []uint16
	for ; len(b) >= 2; b = b[2:] {
		v := binary.LittleEndian.Uint16(b)
		if v == 0 {
			break
		}
		list = append(list, v)
	}
	return string(utf16.Decode(list))
}

// checkNesting checks that what stands in certificates is not nested deeper than any signature is, and that all lies
// within what it is a part of: the library reads it by recursion and copies each level, and behind an object that ends beyond its
// parent it goes on at the parent's end, thus reads the same bytes twice, at each level anew. Certificates in ASN.1 follow a head of 8
// bytes.
func checkNesting(b []byte) bool {
	const head, deepest, most = 8, 48, 1 << 16
	if len(b) <= head {
		return false
	}
	// ends are the ends of the objects that are open: of one of indefinite length, that of what it lies in.
	ends := []int{len(b)}
	indefinite := []bool{false}
	count := 0
	for at := head; at < len(b); {
		for n := len(ends) - 1; n > 0 && !indefinite[n] && at >= ends[n]; n-- {
			ends, indefinite = ends[:n], indefinite[:n]
		}
		if len(ends) == 1 && count > 0 {
			return true // what follows the first object is padding
		}
		n := len(ends) - 1
		if count++; count > most || len(ends) > deepest || ends[n]-at < 2 {
			return false
		}
		tag := b[at]
		length := int(b[at+1])
		at += 2
		if tag&0x1f == 0x1f {
			return false // long tags are not used
		}
		open := length == 0x80
		if length > 0x80 {
			size := length & 0x7f
			if size > 4 || ends[n]-at < size {
				return false
			}
			length = 0
			for _, c := range b[at : at+size] {
				length = length<<8 | int(c)
			}
			at += size
		}
		switch {
		case tag == 0 && length == 0:
			if indefinite[n] {
				ends, indefinite = ends[:n], indefinite[:n]
			}
		case open && tag&0x20 != 0:
			if ends[n]-at < 2 || b[at] == 0 && b[at+1] == 0 {
				return false // the library takes the mark of the end for the first part
			}
			ends, indefinite = append(ends, ends[n]), append(indefinite, true)
		case open || length < 0 || length > ends[n]-at:
			return false
		case tag&0x20 != 0:
			ends, indefinite = append(ends, at+length), append(indefinite, false)
		default:
			at += length
		}
	}
	return true
}

// miniature makes a PE of headers alone, followed by certificates.
func miniature(certificates []byte) []byte {
	le := binary.LittleEndian
	const ntAt, optionalSize, size = 0x80, 240, 0x400
	b := make([]byte, size, size+len(certificates))
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], ntAt)
	nt := b[ntAt:]
	copy(nt, "PE\x00\x00")
	le.PutUint16(nt[4:], 0x8664)
	le.PutUint16(nt[6:], 1)
	le.PutUint16(nt[20:], optionalSize)
	le.PutUint16(nt[22:], 0x22)
	optional := nt[24:]
	le.PutUint16(optional, 0x20b)
	le.PutUint64(optional[24:], 0x140000000)
	le.PutUint32(optional[32:], 0x200)
	le.PutUint32(optional[36:], 0x200)
	le.PutUint32(optional[56:], 0x600)
	le.PutUint32(optional[60:], 0x200)
	le.PutUint32(optional[108:], 16)
	le.PutUint32(optional[112+8*4:], size)
	le.PutUint32(optional[116+8*4:], uint32(len(certificates)))
	section := optional[optionalSize:]
	copy(section, ".text")
	for i, v := range []uint32{0x200, 0x400, 0x200, 0x200} {
		le.PutUint32(section[8+4*i:], v)
	}
	le.PutUint32(section[36:], 0x60000020)
	return append(b, certificates...)
}
