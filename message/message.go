// Package message makes texts for people: what is wrong with a file, why a
// symbol file was not taken, what is noted of a log. A text is made where its
// reason is known, as a pattern with arguments, and becomes a string where it is
// shown, in the language of the reader:
//
//	return message.Errorf("thread %d: %w", id, errChanged)
//
// The command and saved files show the English form, which [Text.String] and
// Error return. The window puts the pattern into its language first, by looking
// it up among the translations ([Text.In]).
//
// # Invariants
//
//  1. The English form is what fmt makes of pattern and arguments
//     (TestEnglishIsFmt).
//  2. An argument that has a text of its own (a [Text], an error made here, any
//     type with a method Message() Text) is translated too, however deep it is
//     nested (TestNested). Other arguments look the same in every language.
//  3. A text does not change once it is made, whatever becomes of the bytes that it
//     was made of (TestTextKeepsItsArguments). Other arguments are values: numbers,
//     strings, errors, texts.
//  4. [Errorf] wraps the operands of %w, and only those, so that [errors.Is] and
//     [errors.As] find what they find in an error of [fmt.Errorf] (TestWrapped).
//     Nothing is ever recognised by the text of an error: there is a sentinel or a
//     type for it.
//  5. Translations are found by the pattern as it stands in the code, with %v
//     for %w ([Key]; TestKey). Each pattern in the code has a translation with the
//     same verbs, and no translation is without its pattern
//     (TestEveryTextIsTranslated in ui/language, which finds patterns as the
//     literal arguments of this package's functions and of those whose last two
//     parameters are "pattern string, args ...any").
//  6. Texts name no command-line option: what to do next is said by the program
//     that shows them (TestNoOptions in ui/language).
//
// Package message imports nothing of ours and may be imported by all.
package message

import (
	"fmt"
	"slices"
	"strings"
)

// A Text is a sentence, or a part of one, that can be said in several
// languages. The zero Text says nothing.
type Text struct {
	// Pattern is the English text with fmt's verbs.
	Pattern string
	// Args are the operands of the verbs. They are shared: do not change them.
	Args []any
}

// Textf makes a text.
func Textf(pattern string, args ...any) Text {
	if false {
		_ = fmt.Sprintf(pattern, args...) // lets vet check the verbs
	}
	return Text{pattern, keep(args)}
}

// keep returns arguments that stay what they are.
func keep(args []any) []any {
	for i, a := range args {
		if b, ok := a.([]byte); ok {
			args = slices.Clone(args)
			args[i] = slices.Clone(b)
		}
	}
	return args
}

// Of returns the text of an error: its own if it has one, otherwise what it says
// in English, which is then the text in all languages.
func Of(err error) Text {
	if own, ok := err.(interface{ Message() Text }); ok {
		return own.Message()
	}
	return Textf("%v", err)
}

// IsZero reports whether the text says nothing.
func (t Text) IsZero() bool { return t.Pattern == "" }

// String returns the text in English.
func (t Text) String() string { return t.In(func(key string) string { return key }) }

// In returns the text in the language that translate puts patterns into. It is
// given their keys (see [Key]); what it returns may use fmt's explicit indexes to
// change the order of arguments.
func (t Text) In(translate func(key string) string) string {
	if t.IsZero() {
		return ""
	}
	pattern := translate(Key(t.Pattern))
	if len(t.Args) == 0 && !strings.Contains(pattern, "%") {
		return pattern
	}
	args := make([]any, len(t.Args))
	for i, a := range t.Args {
		switch a := a.(type) {
		case Text:
			args[i] = a.In(translate)
		case interface{ Message() Text }:
			args[i] = a.Message().In(translate)
		default:
			args[i] = a
		}
	}
	return fmt.Sprintf(pattern, args...)
}

// And returns two texts as one, the other after a semicolon.
func (t Text) And(other Text) Text {
	switch {
	case t.IsZero():
		return other
	case other.IsZero():
		return t
	}
	return Textf("%s; %s", t, other)
}

// Or returns texts as one that names them as alternatives.
func Or(list []Text) Text {
	var t Text
	for i, other := range list {
		if i == 0 {
			t = other
		} else {
			t = Textf("%s or %s", t, other)
		}
	}
	return t
}

// Key returns what a pattern is found by in the translations. They say %v where
// the code says %w, since it makes no difference to a reader.
func Key(pattern string) string { return strings.ReplaceAll(pattern, "%w", "%v") }

// A textError is an error with a text that wraps at most one.
type textError struct {
	text    Text
	wrapped error
}

// New makes an error of a text without arguments, as [errors.New] does.
func New(text string) error {
	return &textError{text: Text{Pattern: strings.ReplaceAll(text, "%", "%%")}}
}

// Errorf makes an error that wraps the operands of %w, as [fmt.Errorf] does.
func Errorf(pattern string, args ...any) error {
	if false {
		_ = fmt.Errorf(pattern, args...) // lets vet check the verbs
	}
	text := Text{pattern, keep(args)}
	switch list := wrapped(pattern, args); len(list) {
	case 0:
		return &textError{text, nil}
	case 1:
		return &textError{text, list[0]}
	default:
		return &textErrors{text, list}
	}
}

// Wrap makes an error that wraps another one, of which its text says nothing by
// itself.
func Wrap(err error, pattern string, args ...any) error {
	return &textError{Textf(pattern, args...), err}
}

func (e *textError) Error() string { return e.text.String() }
func (e *textError) Message() Text { return e.text }
func (e *textError) Unwrap() error { return e.wrapped }

// A textErrors wraps several.
type textErrors struct {
	text    Text
	wrapped []error
}

func (e *textErrors) Error() string   { return e.text.String() }
func (e *textErrors) Message() Text   { return e.text }
func (e *textErrors) Unwrap() []error { return e.wrapped }

// wrapped returns the operands of %w. Patterns in the code have no explicit
// indexes.
func wrapped(pattern string, args []any) []error {
	var list []error
	operand := 0
	for {
		at := strings.IndexByte(pattern, '%')
		if at < 0 {
			return list
		}
		pattern = pattern[at+1:]
		for pattern != "" && strings.IndexByte("+-# 0123456789.*", pattern[0]) >= 0 {
			if pattern[0] == '*' {
				operand++
			}
			pattern = pattern[1:]
		}
		if pattern == "" {
			return list
		}
		verb := pattern[0]
		pattern = pattern[1:]
		if verb == '%' {
			continue
		}
		if verb == 'w' && operand < len(args) {
			if err, ok := args[operand].(error); ok {
				list = append(list, err)
			}
		}
		operand++
	}
}

// A FileError says what is wrong with a file.
type FileError struct {
	Path string
	Err  error
}

// InFile returns an error that names the file in which another one arose, nil if
// there is none.
func InFile(path string, err error) error {
	if err == nil {
		return nil
	}
	return &FileError{path, err}
}

// Error returns the path and what is wrong, in English.
func (e *FileError) Error() string { return e.Message().String() }

// Message returns the path and what is wrong.
func (e *FileError) Message() Text { return Textf("%s: %v", e.Path, e.Err) }

// Unwrap returns what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// WithoutFile returns what is wrong with a file where an error says it of that
// one, for messages that name the file themselves; otherwise the error as it is.
func WithoutFile(path string, err error) error {
	if file, ok := err.(*FileError); ok && file.Path == path {
		return file.Err
	}
	return err
}

// Strings returns texts in English.
func Strings(list []Text) []string {
	said := make([]string, len(list))
	for i, t := range list {
		said[i] = t.String()
	}
	return said
}
