package store

import (
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"logparser/message"
)

// ErrRefused says that a path out of a file must not be opened.
var ErrRefused = message.New("path refused")

// maxLinks bounds the symbolic links followed in one path.
const maxLinks = 40

// CheckRecorded applies the rule for paths that come out of files (logs,
// images, symbol files) and returns the path to open, with symbolic links
// resolved. A path is permitted only if it is absolute, local and a regular
// file: UNC and device paths, network mounts and ".." are refused, by their
// spelling alone, before the system is asked anything, because on Windows a
// mere stat of a UNC path sends the user's credentials.
//
// Errors wrap [ErrRefused], or fs.ErrNotExist where the path is permitted and
// nothing is there.
func CheckRecorded(path string) (string, error) {
	return checkRecorded(path, runtime.GOOS)
}

func checkRecorded(path, goos string) (string, error) {
	if err := checkSpelling(path, goos); err != nil {
		return "", err
	}
	if goos == "windows" {
		return checkLinks(path, filepath.VolumeName(path)+`\`, path[3:])
	}
	return checkLinks(path, "/", path[1:])
}

// checkSpelling judges a path by its text alone.
func checkSpelling(path, goos string) error {
	refuse := func(pattern string, args ...any) error {
		return message.Wrap(ErrRefused, "path refused: %s (%q)", message.Textf(pattern, args...), path)
	}
	if path == "" {
		return refuse("it is empty")
	}
	if strings.ContainsRune(path, 0) {
		return refuse("it holds a zero byte")
	}
	slashed := strings.ReplaceAll(path, `\`, "/")
	if strings.HasPrefix(slashed, "//") {
		return refuse("it is a network or device path")
	}
	for _, part := range strings.Split(slashed, "/") {
		if part == ".." {
			return refuse(`it holds ".."`)
		}
	}
	if goos != "windows" {
		switch {
		case path[0] != '/':
			return refuse("it is not an absolute path of this system")
		case strings.HasPrefix(path, "/proc/"), strings.HasPrefix(path, "/sys/"),
			strings.HasPrefix(path, "/dev/"):
			return refuse("it is a device path")
		}
		return nil
	}
	letter := path[0] | 0x20
	if len(path) < 4 || letter < 'a' || letter > 'z' || path[1] != ':' || slashed[2] != '/' {
		return refuse("it is not an absolute path of this system")
	}
	if strings.ContainsAny(path[2:], `:*?"<>|`) {
		return refuse("it holds a character that names a device or a stream")
	}
	for _, part := range strings.Split(slashed[3:], "/") {
		if isDosDevice(part) {
			return refuse("it names a device")
		}
	}
	return nil
}

// isDosDevice reports whether Windows takes a path element for a device,
// whatever its extension.
func isDosDevice(part string) bool {
	stem, _, _ := strings.Cut(part, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT") {
		switch stem[3:] {
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3":
			return true
		}
	}
	return false
}

// checkLinks walks a path element by element, so that no symbolic link leads
// to a place that the spelling of the path hides.
func checkLinks(path, root, rest string) (string, error) {
	sep := string(filepath.Separator)
	if err := checkVolume(root); err != nil {
		return "", message.Wrap(ErrRefused, "path refused: %v (%q)", err, path)
	}
	done := strings.TrimSuffix(root, sep)
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == filepath.Separator || r == '/' })
	links := 0
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		switch part {
		case ".":
			continue
		case "..": // only out of a link's target
			done = strings.TrimSuffix(filepath.Dir(done), sep)
			continue
		}
		next := done + sep + part
		if err := checkMount(next); err != nil {
			return "", message.Wrap(ErrRefused, "path refused: %v (%q)", err, path)
		}
		info, err := lstatPath(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
			done = next
			continue
		}
		target, err := readLink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", message.Wrap(ErrRefused, "path refused: too many symbolic links (%q)", path)
		}
		if filepath.IsAbs(target) {
			target = filepath.Clean(target)
			if err := checkSpelling(target, runtime.GOOS); err != nil {
				return "", message.Wrap(err, "%v, reached by a link from %q", err, path)
			}
			volume := filepath.VolumeName(target)
			if err := checkVolume(volume + sep); err != nil {
				return "", message.Wrap(ErrRefused, "path refused: %v (%q)", err, path)
			}
			done, target = volume, target[len(volume):]
		}
		parts = append(strings.FieldsFunc(target, func(r rune) bool { return r == filepath.Separator || r == '/' }), parts...)
	}
	info, err := lstatPath(done)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", message.Wrap(ErrRefused, "path refused: it is not a regular file (%q)", path)
	}
	return done, nil
}
