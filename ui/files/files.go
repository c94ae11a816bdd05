// Package files asks the user for files and folders, by the system's own
// dialogs where there are any and by Fyne's where there are not.
package files

import (
	"errors"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/storage"
	"github.com/ncruces/zenity"
)

// A Picker asks. Its methods return at once; done is called on the goroutine
// that Post leads to, and not at all when the user cancels.
type Picker struct {
	Window fyne.Window
	// Post runs a function on the user interface's goroutine.
	Post func(func())
	// Shown, if not nil, is told a dialog of Fyne's that was opened.
	Shown func(dialog.Dialog)
	// Native permits the system's dialogs.
	Native bool

	asking bool // the system's dialog is open
}

// Asking reports whether a dialog of the system's is open.
func (p *Picker) Asking() bool { return p.asking }

// File asks for a file to open; start is a path to begin at, or "".
func (p *Picker) File(title, start string, done func(path string)) {
	p.ask(func() (string, error) {
		return zenity.SelectFile(zenity.Title(title), zenity.Filename(folderOf(start)))
	}, done, func() {
		d := dialog.NewFileOpen(func(r fyne.URIReadCloser, err error) {
			if r != nil {
				r.Close()
				done(r.URI().Path())
			}
		}, p.Window)
		d.SetTitleText(title)
		p.show(d, start)
	})
}

// Folder asks for a folder.
func (p *Picker) Folder(title, start string, done func(path string)) {
	p.ask(func() (string, error) {
		return zenity.SelectFile(zenity.Title(title), zenity.Directory(), zenity.Filename(folderOf(start)))
	}, done, func() {
		d := dialog.NewFolderOpen(func(l fyne.ListableURI, err error) {
			if l != nil {
				done(l.Path())
			}
		}, p.Window)
		d.SetTitleText(title)
		p.show(d, start)
	})
}

// Save asks for a file to write; name is what it would be called. asked says that the user
// was asked already whether a file of that name is to be replaced, if there is one.
func (p *Picker) Save(title, name string, done func(path string, asked bool)) {
	p.ask(func() (string, error) {
		return zenity.SelectFileSave(zenity.Title(title), zenity.ConfirmOverwrite(), zenity.Filename(name))
	}, func(path string) { done(path, true) }, func() {
		// Fyne's own save dialog would create the file at once, and the file
		// must stay as it is until the saving has gone well. So a folder is
		// asked for, and the name kept.
		d := dialog.NewFolderOpen(func(l fyne.ListableURI, err error) {
			if l != nil {
				done(filepath.Join(l.Path(), filepath.Base(name)), false)
			}
		}, p.Window)
		d.SetTitleText(title + ": " + lang.L("folder for {{.Name}}", map[string]any{"Name": filepath.Base(name)}))
		d.SetConfirmText(lang.L("Save"))
		p.show(d, name)
	})
}

// ask tries the system's dialog on another goroutine, as it blocks.
func (p *Picker) ask(native func() (string, error), done func(string), fallback func()) {
	if p.asking {
		return // one at a time
	}
	if !p.Native || !zenity.IsAvailable() {
		fallback()
		return
	}
	p.asking = true
	go func() {
		path, err := native()
		p.Post(func() {
			p.asking = false
			switch {
			case err == nil && path != "":
				done(path)
			case err == nil || errors.Is(err, zenity.ErrCanceled):
			default:
				fallback()
			}
		})
	}()
}

// show opens one of Fyne's dialogs, as large as the window permits.
func (p *Picker) show(d *dialog.FileDialog, start string) {
	if start != "" {
		if l, err := storage.ListerForURI(storage.NewFileURI(filepath.Dir(start))); err == nil {
			d.SetLocation(l)
		}
	}
	d.Show() // before this it has nothing to resize
	size := p.Window.Canvas().Size()
	d.Resize(fyne.NewSize(min(size.Width*0.9, 900), min(size.Height*0.9, 640)))
	if p.Shown != nil {
		p.Shown(d)
	}
}

// folderOf makes the dialogs begin in the folder of a path.
func folderOf(path string) string {
	if path == "" {
		return ""
	}
	return filepath.Dir(path) + string(filepath.Separator)
}
