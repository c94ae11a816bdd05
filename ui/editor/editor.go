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

// openedNames are the extensions that the system's opener is trusted with.
// The name comes out of a log, so what is not known to be text is refused.
var openedNames = map[string]bool{
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
		if !openedNames[strings.ToLower(filepath.Ext(file))] {
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

// ErrBatch says that the editor is a batch file, and the name one that the command processor of Windows would read as commands.
var ErrBatch = message.New("the editor is a batch file, which cannot be given this name; choose the program itself in the settings")

// batchLine returns the command line of cmd.exe that runs a batch file with arguments, each of which stays one that the processor
// does not look into: it does not keep to the quotation that programs do.
func batchLine(script string, args []string) (string, error) {
	line := `cmd.exe /e:on /v:off /d /c "` + quoteBatch(script)
	for _, word := range append([]string{script}, args...) {
		// Variables are put in within quotation marks, too, and a line feed ends the command.
		if strings.ContainsAny(word, "\"%!\r\n\x00\x1a") || strings.HasSuffix(word, `\`) {
			return "", ErrBatch
		}
	}
	for _, word := range args {
		line += " " + quoteBatch(word)
	}
	return line + `"`, nil
}

func quoteBatch(word string) string { return `"` + word + `"` }

// isBatch reports whether a program is a batch file.
func isBatch(path string) bool {
	ext := strings.ToLower(filepath.Ext(strings.TrimRight(path, ". ")))
	return ext == ".bat" || ext == ".cmd"
}

// Start runs a command and does not wait for it.
func Start(args []string) error {
	cmd := exec.Command(args[0], args[1:]...)
	if err := protect(cmd); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go cmd.Wait()
	return nil
}
