package control

import "time"

// LookEvery sets the time between two looks at the log's file.
func (c *Controller) LookEvery(d time.Duration) { c.lookAgain = d }

// ShowWorkAfter sets how long work goes on before it is shown.
func (c *Controller) ShowWorkAfter(d time.Duration) { c.slowAfter = d }

// ShowWorkLate makes the time after which work is shown pass just as the work ends.
func (c *Controller) ShowWorkLate() {
	c.slowAfter = time.Hour
	c.after = func(_ time.Duration, f func()) func() bool {
		return func() bool { f(); return false }
	}
}

// FactsOf is factsOf.
var FactsOf = factsOf
