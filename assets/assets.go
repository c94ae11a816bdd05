// Package assets holds what the desktop program brings along: its icon, the
// texts of its languages, a font with Han characters and a sample log.
package assets

import (
	"embed"
	"io/fs"
)

// Icon is the program's icon, 512 pixels wide, as PNG.
//
//go:embed icon.png
var Icon []byte

// HanFont is an OpenType font with the characters of GB2312 and ASCII; see
// fonts/subset.sh.
//
//go:embed fonts/LogParserHan.otf
var HanFont []byte

//go:embed translations/*.json
var translations embed.FS

// Translation returns the texts of a language ("en", "zh") as JSON.
func Translation(language string) ([]byte, error) {
	return fs.ReadFile(translations, "translations/"+language+".json")
}
