package control

import (
	"context"
	"strconv"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// SlowestCall finds the call of a function within the selection that took longest, the
// first of several. Calls that have not ended do not count.
func (k *Calls) SlowestCall(f app.FunctionRef, done func(row int64)) {
	where := k.c.Filter.Wanted().Where
	k.jump(lang.L("Searching"), lang.L("No call of this function in what is shown has ended."), func(ctx context.Context, s *app.Session) (int64, bool, error) {
		enters, err := (&Pick{FunctionRef: f}).where(where)
		if err != nil {
			return -1, false, err
		}
		list, err := s.Statistics(ctx, app.Selection{Where: enters}, func(app.Stage, int64, int64) {})
		if err != nil {
			return -1, false, err
		}
		longest := int64(-1)
		for i := range list {
			if list[i].Timed > 0 {
				longest = max(longest, list[i].Max)
			}
		}
		if longest < 0 {
			return -1, false, nil
		}
		return firstRow(ctx, s, enters+" dur:>="+strconv.FormatInt(longest, 10)+"ns")
	}, done)
}
