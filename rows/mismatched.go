package rows

import "strings"

// Mismatched is the status of names that a symbol file of another build gave
// because the user asked for them.
const Mismatched = "mismatched"

// tag is the mismatch tag, which stands at every name of a symbol file of another build: before a
// function, where cutting long text leaves it, and after a source path, where
// taking its last element does.
const tag = "[mismatched]"

// TagFunction tags a function's name as one of another build.
func TagFunction(name string) string {
	if name == "" {
		return ""
	}
	return tag + " " + name
}

// TagSource tags a source path as one of another build.
func TagSource(path string) string {
	if path == "" {
		return ""
	}
	return path + " " + tag
}

// CutSourceTag returns a source path without its tag.
func CutSourceTag(path string) string { return strings.TrimSuffix(path, " "+tag) }

// IsTagged reports whether a row's function carries the tag.
func (r *Row) IsTagged() bool { return r.Symbols == Mismatched && strings.HasPrefix(r.Function, tag) }
