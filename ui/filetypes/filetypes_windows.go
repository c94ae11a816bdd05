package filetypes

import (
	"errors"
	"strings"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// A kind is a type of files.
type kind struct {
	extension string
	// own: the type is LogParser's, and a double click opens it, unless it has another program already.
	own bool
}

var kinds = []kind{{".lptrace", true}, {".lppack", true}, {".dat", false}}

const (
	// program is the name of the type in the registry, executable that of the program.
	program    = "LogParser.Trace.1"
	executable = "LogParser.exe"
)

// Possible reports whether the system has types of files that a program can register for.
const Possible = true

// classes is where the user's own types are. Tests have another place.
var classes = `Software\Classes`

// command is what opens a file.
func command(exe string) string { return `"` + exe + `" "%1"` }

// Registered reports whether files are opened with the program at a path.
func Registered(exe string) bool {
	return strings.EqualFold(text(classes+`\`+program+`\shell\open\command`), command(exe))
}

// text is the default value of a key, "" for none.
func text(path string) string {
	k, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer k.Close()
	s, _, err := k.GetStringValue("")
	if err != nil {
		return ""
	}
	return s
}

// set makes a key with a default value, or without one.
func set(path, value string) error {
	k, _, err := registry.CreateKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	if value == "" {
		return nil
	}
	return k.SetStringValue("", value)
}

// name gives a key a value without content, as lists of names have them.
func name(path, value string) error {
	k, _, err := registry.CreateKey(registry.CURRENT_USER, path, registry.SET_VALUE)
	if err != nil {
		return err
	}
	defer k.Close()
	return k.SetStringValue(value, "")
}

// Register lets the system open files with the program at a path.
func Register(exe string) error {
	app := classes + `\Applications\` + executable
	errs := []error{
		set(classes+`\`+program, "LogParser"),
		set(classes+`\`+program+`\DefaultIcon`, `"`+exe+`",0`),
		set(classes+`\`+program+`\shell\open\command`, command(exe)),
		set(app+`\shell\open\command`, command(exe)),
	}
	for _, k := range kinds {
		errs = append(errs, name(app+`\SupportedTypes`, k.extension), name(classes+`\`+k.extension+`\OpenWithProgids`, program))
		if k.own && text(classes+`\`+k.extension) == "" {
			errs = append(errs, set(classes+`\`+k.extension, program))
		}
	}
	changed()
	return errors.Join(errs...)
}

// Unregister takes back what Register did, and nothing else.
func Unregister() error {
	var errs []error
	for _, k := range kinds {
		path := classes + `\` + k.extension
		errs = append(errs, forget(path+`\OpenWithProgids`, program, ""))
		errs = append(errs, forget(path, "", program))
	}
	errs = append(errs, removeTree(classes+`\`+program), removeTree(classes+`\Applications\`+executable))
	removeEmpty(classes + `\Applications`)
	changed()
	return errors.Join(errs...)
}

// forget deletes a value of a key, if it is what only says, "" for whatever it is; and the key if nothing is left in it.
func forget(path, value, only string) error {
	k, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE|registry.SET_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s, _, err := k.GetStringValue(value)
	if err == nil && (only == "" || s == only) {
		err = k.DeleteValue(value)
	}
	k.Close()
	removeEmpty(path)
	if errors.Is(err, registry.ErrNotExist) || errors.Is(err, registry.ErrUnexpectedType) {
		return nil
	}
	return err
}

// removeEmpty deletes a key that has neither values nor keys.
func removeEmpty(path string) {
	k, err := registry.OpenKey(registry.CURRENT_USER, path, registry.QUERY_VALUE|registry.ENUMERATE_SUB_KEYS)
	if err != nil {
		return
	}
	info, err := k.Stat()
	k.Close()
	if err == nil && info.SubKeyCount == 0 && info.ValueCount == 0 {
		_ = registry.DeleteKey(registry.CURRENT_USER, path) // it is empty
	}
}

// removeTree deletes a key with all in it.
func removeTree(path string) error {
	k, err := registry.OpenKey(registry.CURRENT_USER, path, registry.ENUMERATE_SUB_KEYS)
	if errors.Is(err, registry.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := k.ReadSubKeyNames(-1)
	k.Close()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := removeTree(path + `\` + n); err != nil {
			return err
		}
	}
	return registry.DeleteKey(registry.CURRENT_USER, path)
}

// changed tells the desktop that types have changed.
func changed() {
	const assocChanged = 0x08000000
	notify := windows.NewLazySystemDLL("shell32.dll").NewProc("SHChangeNotify")
	if notify.Find() == nil {
		_, _, _ = notify.Call(assocChanged, 0, 0, 0) // it returns nothing
	}
}
