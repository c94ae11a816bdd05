package texts

import (
	"slices"
	"strings"
)

// programWords and folderWords stand before the path of a program that ran, and of the folder that it ran in: in what systemd, gdb and
// ps -E print, and in reports that programs write of themselves.
var (
	programWords = [...]string{"Executable: /", "tarting program: /"}
	folderWords  = [...]string{"PWD=/", "orking directory: /", "cwd: /"}
)

// maxPlaces bounds the places that are kept.
const maxPlaces = 64

// readPlaces keeps what a line tells of where programs lie and ran. The line is still read by its format.
func (r *Reader) readPlaces(line string) {
	if !strings.Contains(line, ": /") && !strings.Contains(line, "=/") {
		return
	}
	for _, part := range strings.Split(line, "#012") {
		for _, w := range programWords {
			keepPlace(&r.programs, part, w)
		}
		for _, w := range folderWords {
			keepPlace(&r.folders, part, w)
		}
	}
}

// keepPlace keeps the path behind words. It ends with the line, as paths may have blanks.
func keepPlace(list *[]string, line, words string) {
	_, rest, ok := strings.Cut(line, words)
	if !ok {
		return
	}
	path := "/" + strings.TrimSpace(rest)
	if path != "/" && len(*list) < maxPlaces && !slices.Contains(*list, path) {
		*list = append(*list, path)
	}
}

// Told returns the paths of programs that the text names, and the folders that it says programs ran in. Both come from another machine.
func (r *Reader) Told() (programs, folders []string) {
	programs = slices.Clone(r.programs)
	for i := range r.mappings {
		if m := r.mappings[i].Module; strings.HasPrefix(m, "/") && !slices.Contains(programs, m) {
			programs = append(programs, m)
		}
	}
	return programs, r.folders
}

// Mappings returns how many mappings are known.
func (r *Reader) Mappings() int { return len(r.mappings) }
