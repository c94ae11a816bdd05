package symbols

import "logparser/message"

// A Status says how far the names of a module can be trusted.
type Status string

const (
	// Matched: the recorded identity equals the symbol file's.
	Matched Status = "matched"
	// Attached: the recorded identity equals that of the module whose symbols an
	// executable of the program carries (see package attached).
	Attached Status = "attached"
	// Embedded: the recorded identity equals the image's, and the names come
	// from the image itself.
	Embedded Status = "embedded"
	// ExportsOnly: as Embedded, but the image has only exported names.
	ExportsOnly Status = "exports only"
	// StartsOnly: as Embedded, but the image has no names: what was found is where its
	// functions start.
	StartsOnly Status = "starts only"
	// Mismatched: a file was found that belongs to another build. It gives no
	// names, unless the user asked for them; then every one is marked.
	Mismatched Status = "mismatched"
	// Unverified: names are given, but nothing was recorded to check by.
	Unverified Status = "unverified"
	// NotFound: no file was found.
	NotFound Status = "not found"
	// Pending: the search has not ended yet. It is never written to a file.
	Pending Status = "pending"
)

// An Attempt is one place where symbols were looked for.
type Attempt struct {
	// Path is the file or folder, as far as it may be shown.
	Path string
	// Outcome is what was found there, in a few words.
	Outcome message.Text
}

// A Binding is a module's symbols as they were found.
type Binding struct {
	Status Status
	// Table gives the names; it is nil if Status is NotFound or Pending, and
	// if it is Mismatched, unless the user asked for such names.
	Table Table
	// File is the path of the symbol file (or image) that was taken or
	// rejected, "" where none was found.
	File string
	// Reason says in a sentence why the status is what it is.
	Reason message.Text
	// Attempts lists every place looked at, in order.
	Attempts []Attempt
	// About is what the module's image says of itself, if it was found.
	About About
}

// An About is what an image says of itself, which nobody checks: "" where it says nothing.
type About struct {
	FileVersion, ProductVersion, Product, Company, Description string
	// Signer is whom its signature names. The signature is not verified.
	Signer string
}
