// Package editor opens a source file at a line, in the editor of the user's
// choice or by whatever the system opens such files with.
package editor

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"logparser/message"
)

// Presets are commands for editors that can be given a line.
var Presets = []string{
	"code -g {file}:{line}",
	"subl {file}:{line}",
	"gvim +{line} {file}",
	"emacsclient -n +{line} {file}",
	"kate -l {line} {file}",
	"notepad++ -n{line} {file}",
}

// ErrNotSource says that the system is not asked to open a file, because by
// its name it might run it. An editor of the user's choice opens it all the
// same.
var ErrNotSource = message.New("the name is not that of a source file; choose an editor in the settings")

// sourceNames are the extensions that the system's opener is trusted with.
// The name comes out of a log, so what is not known to be text is refused.
var sourceNames = map[string]bool{
	".c": true, ".cc": true, ".cpp": true, ".cxx": true, ".c++": true, ".ixx": true, ".cppm": true,
	".h": true, ".hh": true, ".hpp": true, ".hxx": true, ".h++": true, ".inl": true, ".inc": true,
	".ipp": true, ".tcc": true, ".tpp": true, ".m": true, ".mm": true, ".cu": true, ".cuh": true,
	".rs": true, ".go": true, ".d": true, ".s": true, ".asm": true, ".txt": true,
}

// ErrQuotes says that a command's quotation marks do not pair.
var ErrQuotes = message.New("a quotation mark is not closed")

// Command returns the program and its arguments for a file and a line (0 if
// unknown). An empty template stands for the system's opener. The file is one
// argument whatever it holds; no shell sees it.
func Command(template, file string, line int) ([]string, error) {
	if strings.TrimSpace(template) == "" {
		if !sourceNames[strings.ToLower(filepath.Ext(file))] {
			return nil, ErrNotSource
		}
		return opener(runtime.GOOS, file), nil
	}
	words, err := split(template)
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{file}", file, "{line}", strconv.Itoa(max(line, 1)))
	for i, w := range words {
		words[i] = fill.Replace(w)
	}
	if !strings.Contains(template, "{file}") {
		words = append(words, file)
	}
	return words, nil
}

func opener(system, file string) []string {
	switch system {
	case "windows":
		// Not cmd /c start: that would give the name to a shell.
		return []string{"rundll32.exe", "url.dll,FileProtocolHandler", file}
	case "darwin":
		return []string{"open", "-t", file}
	}
	return []string{"xdg-open", file}
}

// split cuts a command into words at blanks outside quotation marks.
func split(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, some := rune(0), false
	for _, r := range s {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, some = r, true
		case r == ' ' || r == '\t':
			if some {
				words = append(words, word.String())
				word.Reset()
				some = false
			}
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if quote != 0 {
		return nil, ErrQuotes
	}
	if some {
		words = append(words, word.String())
	}
	return words, nil
}

// Start runs a command and does not wait for it.
func Start(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}
