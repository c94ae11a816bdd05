package ui

import (
	"errors"
	"fmt"
	"os"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/ui/control"
	"logparser/ui/settings"
)

// kept gives Fyne a store of settings in place of its own preferences, also for what its
// dialogs remember. Fyne calls what does that a cloud provider; nothing leaves the machine.
type kept struct{ store *settings.Store }

func (k kept) ProviderName() string                       { return "LogParser" }
func (k kept) ProviderDescription() string                { return "" }
func (k kept) ProviderIcon() fyne.Resource                { return nil }
func (k kept) Setup(fyne.App) error                       { return nil }
func (k kept) Cleanup(fyne.App)                           {}
func (k kept) CloudPreferences(fyne.App) fyne.Preferences { return k.store }

// tellTrouble says what is wrong with the settings' file as soon as nothing else is asked.
func (w *Window) tellTrouble(store *settings.Store) {
	store.OnTrouble(func(err error) {
		// While the window closes nobody sees another message.
		fmt.Fprintln(os.Stderr, "logparser: settings:", err)
		w.post(func() {
			w.dialogs.whenFree(func() {
				w.trace("settings " + err.Error())
				var damaged *settings.Damaged
				text := lang.L("The settings cannot be kept: {{.Cause}}", data{"Cause": control.ErrorText(err)})
				if errors.As(err, &damaged) {
					text = lang.L("The file with the settings could not be read, so they begin anew. It is now called {{.Path}}", data{"Path": damaged.Aside})
				}
				w.dialogs.showText(lang.L("Settings"), text)
			})
		})
	})
}
