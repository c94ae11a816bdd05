package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAdvise(t *testing.T) {
	const log = "../../testdata/logtest/linux-gcc-O2"
	out, _, code := command(t, "advise", log, "--no-recorded-paths", "--top", "3", "--event-cost", "11us")
	if code != exitOK {
		t.Fatalf("status %d", code)
	}
	for _, want := range []string{
		"11.000 us each (as given)",
		"app::factorial  (logtest)",
		"... and ",
		"'-finstrument-functions-exclude-function-list=app::factorial,app::inlinedInner,shapes::scale'",
		"LOGREC_EXCLUDE='app::factorial,app::inlinedInner,shapes::scale'",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _, _ = command(t, "advise", log, "--no-recorded-paths", "--json")
	var events int64
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var f jsonCost
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Function == "" || f.Overhead != f.Events*500 {
			t.Fatalf("%v in %s", err, line)
		}
		events += f.Events
	}
	if events != 1198 {
		t.Errorf("%d events", events)
	}
	for _, args := range [][]string{{"advise", log, "--top", "0"}, {"advise", log, "--event-cost", "-1ns"}, {"advise"}} {
		if _, _, code := command(t, args...); code != exitUsage {
			t.Errorf("%v: status %d", args, code)
		}
	}
}
