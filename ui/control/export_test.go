package control

import "time"

// LookEvery sets the time between two looks at the log's file.
func (c *Controller) LookEvery(d time.Duration) { c.lookAgain = d }

// ShowWorkAfter sets how long work goes on before it is shown.
func (c *Controller) ShowWorkAfter(d time.Duration) { c.slowAfter = d }

// FactsOf is factsOf.
var FactsOf = factsOf
