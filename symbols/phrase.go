package symbols

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A Phrase is a sentence for the user, or a part of one, that can be said in
// several languages. Saved files and the command have its English form.
type Phrase struct {
	// Pattern is the English text with fmt's verbs, by which translations
	// are found, and Args what they stand for: texts, numbers, errors and
	// other phrases.
	Pattern string
	Args    []any
}

// Say makes a phrase.
func Say(pattern string, args ...any) Phrase { return Phrase{pattern, args} }

// IsZero reports whether nothing is said.
func (p Phrase) IsZero() bool { return p.Pattern == "" }

// String returns the phrase in English.
func (p Phrase) String() string { return p.In(func(pattern string) string { return pattern }) }

// In returns the phrase in the language that translate puts patterns into.
// Translations may use fmt's explicit indexes to change the order.
func (p Phrase) In(translate func(pattern string) string) string {
	if p.IsZero() {
		return ""
	}
	args := make([]any, len(p.Args))
	for i, a := range p.Args {
		args[i] = a
		var said *Error
		switch a := a.(type) {
		case Phrase:
			args[i] = a.In(translate)
		case error:
			// Of what is wrapped in more words only those would be left.
			if errors.As(a, &said) && said.Error() == a.Error() {
				args[i] = said.Said.In(translate)
			}
		}
	}
	if len(args) == 0 {
		return translate(p.Pattern)
	}
	return fmt.Sprintf(translate(p.Pattern), args...)
}

// And returns two phrases as one, the other after a semicolon.
func (p Phrase) And(other Phrase) Phrase {
	if p.IsZero() {
		return other
	}
	return Say("%s; %s", p, other)
}

// An Error is an error that can be said in several languages.
type Error struct {
	// Said is the whole text.
	Said Phrase
	// Err is what it wraps, nil for nothing.
	Err error
}

// Fail makes an [Error] that wraps another one, of which its text says
// nothing by itself.
func Fail(wrapped error, pattern string, args ...any) error {
	return &Error{Say(pattern, args...), wrapped}
}

// Error implements error, in English.
func (e *Error) Error() string { return e.Said.String() }

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// ErrTemporary says that a symbol file could not be unpacked because there is no
// place for temporary files.
var ErrTemporary = errors.New("no temporary file can be made")

// NoTemporary makes an error that wraps ErrTemporary of one of [os.CreateTemp]: it
// names the folder, which is what is wrong, not the file that was to be unpacked.
func NoTemporary(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return &Error{Say("no temporary file can be made in %s (the variable TMPDIR, on Windows TMP, names the folder): %v", os.TempDir(), err), ErrTemporary}
}
