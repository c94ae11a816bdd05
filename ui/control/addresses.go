package control

import (
	"context"
	"io"
	"os"
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// maxAddressText is how much of a text with addresses is shown, in bytes: its lines are held in memory. The command
// has no such limit.
const maxAddressText = 32 << 20

// NameAddresses names the addresses in a text: that of a file, or, where file is "", the one given. Symbols are
// looked for by the symbol path.
func (c *Controller) NameAddresses(file, text string, done func(named *app.NamedText, err error)) {
	in := c.state.Wanted
	c.run(&c.naming, lang.L("Naming addresses"), func(ctx context.Context, _ app.Progress) func(bool) {
		named, err := nameAddresses(ctx, in, file, text)
		return func(current bool) {
			if current {
				done(named, err)
			}
		}
	})
}

func nameAddresses(ctx context.Context, in app.Inputs, file, text string) (*app.NamedText, error) {
	var r io.Reader = strings.NewReader(text)
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	return app.NameText(ctx, in, nil, r, maxAddressText)
}
