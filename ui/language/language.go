// Package language chooses the language of the window's texts. The texts
// themselves are looked up by Fyne's lang package, so that its own dialogs
// follow; those that package message made come there by control.Translate.
package language

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/assets"
)

// The languages that there are texts for.
const (
	English = "en"
	Chinese = "zh"
)

// All lists the languages with their own names. Chinese has its English name
// too, for systems without a font for the other.
var All = []struct{ Code, Name string }{
	{English, "English"},
	{Chinese, "\u7b80\u4f53\u4e2d\u6587 (Simplified Chinese)"},
}

var (
	mu      sync.Mutex
	current string
)

// Current returns the language that was set last, "" before that.
func Current() string {
	mu.Lock()
	defer mu.Unlock()
	return current
}

// System returns the language of All that suits the user's system.
func System() string {
	if strings.HasPrefix(strings.ToLower(string(lang.SystemLocale())), "zh") {
		return Chinese
	}
	return English
}

// Set makes all texts looked up from now on those of a language; "" is the
// system's.
//
// Fyne looks texts up in the language that it finds the system to have, and
// offers no other choice. So the texts wanted are registered as those of every
// language that it could come to.
func Set(code string) error {
	if code == "" {
		code = System()
	}
	texts, err := assets.Translation(code)
	if err != nil {
		return fmt.Errorf("language %q: %w", code, err)
	}
	if !json.Valid(texts) {
		return fmt.Errorf("language %q: the texts are not JSON", code)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, l := range []string{"en", "zh", "zh-Hans", string(lang.SystemLocale())} {
		if err := lang.AddTranslationsForLocale(texts, fyne.Locale(l)); err != nil {
			return fmt.Errorf("language %q: %w", code, err)
		}
	}
	current = code
	return nil
}
