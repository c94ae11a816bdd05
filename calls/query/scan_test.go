package query_test

import (
	"context"
	"testing"
	"time"

	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
)

// TestProgress expects rising numbers of rows up to all.
func TestProgress(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	log := testlog.Script("A>z 5000( A>f A<f )")
	_, src := logtest.Indexed(t, log, log.Runs, false)
	slow := query.Func(func(_ context.Context, rows []int64, _ []bool) error {
		time.Sleep(time.Millisecond)
		return nil
	})
	calls, last := 0, int64(-1)
	_, _, err := query.Count(t.Context(), src, slow, 1, func(done, total int64) {
		if calls++; done < last || total != src.Len() {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil || calls < 2 || last != src.Len() {
		t.Errorf("%d calls, %d rows, %v", calls, last, err)
	}
}
