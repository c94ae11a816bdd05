package app

import (
	"path/filepath"
	"runtime"
	"strings"

	"logparser/message"
	"logparser/rows"
	"logparser/symbols/store"
)

// SourceFile returns the file on this machine that a recorded source path
// stands for. The user's mappings come first, the first that fits wins; what
// they give is the user's word and may lie anywhere. Without one the recorded
// path itself is taken, if the rule for paths out of files permits it.
func SourceFile(recorded string, mappings []SourceMapping) (string, error) {
	recorded = rows.CutSourceTag(recorded)
	for _, m := range mappings {
		if rest, ok := cutPath(recorded, m.From); ok {
			return openable(filepath.Join(m.To, rest), recorded)
		}
	}
	path, err := store.CheckRecorded(recorded)
	if err != nil {
		return "", &InputError{OtherInput, recorded, unwrapPath(err)}
	}
	return path, nil
}

// cutPath cuts a folder off a recorded path; both slashes are the same, and
// for Windows paths case is too. The rest holds no "..".
func cutPath(path, folder string) (string, bool) {
	norm := func(s string) string { return strings.ReplaceAll(s, `\`, "/") }
	p, f := norm(path), strings.TrimSuffix(norm(folder), "/")
	if len(p) <= len(f) || p[len(f)] != '/' {
		return "", false
	}
	head := p[:len(f)]
	if head != f && !(len(f) > 1 && (f[1] == ':' || runtime.GOOS == "windows") && strings.EqualFold(head, f)) {
		return "", false
	}
	rest := strings.TrimLeft(p[len(f):], "/")
	if rest == "" || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", false
	}
	return filepath.FromSlash(rest), true
}

// openable checks that a mapped path is a file.
func openable(path, recorded string) (string, error) {
	if err := isRegular(path); err != nil {
		return "", &InputError{OtherInput, recorded, message.Errorf("%w; it was mapped to %s", unwrapPath(err), path)}
	}
	return path, nil
}
