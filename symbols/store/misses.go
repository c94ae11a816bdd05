package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"logparser/message"
	"logparser/wholefile"
)

func missFile(cache, address string) string {
	sum := sha256.Sum256([]byte(address))
	return filepath.Join(cache, missFolder, hex.EncodeToString(sum[:16]))
}

// What a server had in the stead of a file, as the miss is remembered.
const (
	missing   = "not there"
	otherFile = "it had another file there"
	// tooLarge has the limit behind it.
	tooLarge = "larger than the limit in bytes: "
)

// rememberMiss notes that a server did not have a file. A miss that cannot be
// noted is asked again.
func rememberMiss(cache, address, outcome string) {
	path := missFile(cache, address)
	if os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		wholefile.Replace(path, 0, func(w io.Writer) error {
			_, err := io.WriteString(w, outcome+"\n"+address+"\n")
			return err
		})
	}
}

// recallMiss tells of a miss noted less than missLifetime ago. What was too large
// is no miss where the limit is higher now.
func recallMiss(cache, address string, limit int64) (age time.Duration, outcome message.Text, ok bool) {
	path := missFile(cache, address)
	info, err := statPath(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, message.Text{}, false
	}
	age = time.Since(info.ModTime())
	if age < 0 || age > missLifetime {
		return 0, message.Text{}, false
	}
	f, err := openPath(path)
	if err != nil {
		return 0, message.Text{}, false
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxPointer))
	word, rest, _ := strings.Cut(string(text), "\n")
	outcome = message.Textf("not there")
	if word == otherFile {
		outcome = message.Textf("it had another file there")
	}
	if n, ok := strings.CutPrefix(word, tooLarge); ok {
		before, err := strconv.ParseInt(n, 10, 64)
		if err != nil || before < limit {
			return 0, message.Text{}, false
		}
		outcome = message.Textf("larger than the limit of %d bytes", before)
	}
	return age, outcome, strings.TrimSuffix(rest, "\n") == address
}

// ForgetMisses lets servers be asked again for what they did not have: it
// removes what is remembered of that in the cache folders of a search path.
// cache is the default one, "" for none.
func ForgetMisses(elements []string, cache string) error {
	folders := map[string]bool{cache: true}
	for _, p := range parsePath(elements, nothing) {
		if p.kind == placeSymSrv || p.kind == placeDebuginfod {
			folders[p.cache] = true
		}
	}
	var failures []error
	for dir := range folders {
		if dir != "" {
			failures = append(failures, os.RemoveAll(filepath.Join(dir, missFolder)))
		}
	}
	return errors.Join(failures...)
}
