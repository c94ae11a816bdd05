package control

import "time"

// LookEvery sets the time between two looks at the log's file.
func (c *Controller) LookEvery(d time.Duration) { c.lookAgain = d }

// FactsOf is factsOf.
var FactsOf = factsOf
