package app

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/rows"
	"logparser/symbols/store"
)

// SourceFile returns the file on this machine that a recorded source path
// stands for. The user's mappings come first, the first that fits wins; what
// they give is the user's word and may lie anywhere. Without one the recorded
// path itself is taken, if own permits that and the rule for paths out of files does.
// Both must be named as sources are: symbol files can name any file of this machine.
func SourceFile(recorded string, mappings []SourceMapping, own bool) (string, error) {
	recorded = rows.CutSourceTag(recorded)
	if !IsSourceName(recorded) {
		return "", &InputError{OtherInput, recorded, ErrNotSource}
	}
	for _, m := range mappings {
		if rest, ok := cutPath(recorded, m.From); ok {
			return openable(filepath.Join(m.To, rest), recorded)
		}
	}
	if !own {
		return "", &InputError{OtherInput, recorded, store.ErrRefused}
	}
	path, err := store.CheckRecorded(recorded)
	if err == nil && !IsSourceName(path) {
		err = ErrNotSource
	}
	if err != nil {
		return "", &InputError{OtherInput, recorded, unwrapPath(err)}
	}
	return path, nil
}

// ErrNotSource says that a path is not that of a source file.
var ErrNotSource = message.Wrap(store.ErrRefused, "it is not named as sources are")

// sourceExtensions are those of sources.
var sourceExtensions = map[string]bool{
	".c": true, ".cc": true, ".cp": true, ".cpp": true, ".cxx": true, ".c++": true, ".ixx": true, ".cppm": true,
	".h": true, ".hh": true, ".hp": true, ".hpp": true, ".hxx": true, ".h++": true, ".inl": true, ".inc": true,
	".ipp": true, ".tcc": true, ".tpp": true, ".txx": true, ".ii": true, ".i": true, ".def": true, ".m": true, ".mm": true, ".cu": true, ".cuh": true,
	".rs": true, ".go": true, ".d": true, ".s": true, ".asm": true, ".y": true, ".yy": true, ".l": true, ".ll": true, ".re": true, ".rl": true,
	".zig": true, ".nim": true, ".swift": true, ".f": true, ".f90": true, ".for": true, ".pas": true, ".adb": true, ".ads": true, ".cl": true,
}

// IsSourceName reports whether a path, of any system, is named as sources are: by its extension, or as a header without one that
// lies below a folder of headers, as those of the C++ library do.
func IsSourceName(path string) bool {
	name := modules.BaseName(path)
	ext := strings.ToLower(filepath.Ext(name))
	if ext != "" {
		return sourceExtensions[ext]
	}
	folders := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return len(folders) > 1 && slices.Contains(folders[:len(folders)-1], "include")
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
