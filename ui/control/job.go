package control

import (
	"context"
	"sync"
	"time"

	"logparser/app"
)

const (
	// slowAfter is how long work goes on before it is shown. It leaves time for painting: what goes on for 300 ms is to be seen then.
	slowAfter = 200 * time.Millisecond
	// reportEvery is the time between two reports of progress.
	reportEvery = 80 * time.Millisecond
)

// A job is one piece of work on its own goroutine. Those of one kind follow
// each other: a new one cancels the one before and waits for its end.
type job struct {
	cancel context.CancelFunc
	done   chan struct{}
	// began is when the user began to wait: when the job was started, or the first of several that follow each other.
	began time.Time

	mu          sync.Mutex
	title       string
	stage       app.Stage
	count, all  int64
	reported    time.Time
	slow, ended bool
}

// run starts work as the latest of its kind. What work returns is called on
// the user interface's goroutine; current is false if newer work of that kind
// was started, or the work given up, meanwhile.
//
// What is started by what work returns goes on with it: a log is looked at, read and paired by jobs of their own, and the user
// waits for all of them. So their time counts together, and progress that is shown stays from one to the next.
func (c *Controller) run(kind **job, title string, work func(ctx context.Context, p app.Progress) func(current bool)) {
	before := *kind
	ctx, cancel := context.WithCancel(context.Background())
	j := &job{cancel: cancel, done: make(chan struct{}), title: title, began: c.waiting}
	if j.began.IsZero() {
		j.began = time.Now()
	}
	wait := c.slowAfter - time.Since(j.began)
	j.slow = wait <= 0
	*kind = j
	if before != nil {
		before.cancel()
	}
	stop := c.after(max(wait, 0), func() {
		j.mu.Lock()
		j.slow = j.slow || !j.ended
		j.mu.Unlock()
		c.post(c.showWork)
	})
	go func() {
		if before != nil {
			<-before.done
		}
		finish := work(ctx, func(stage app.Stage, done, total int64) { c.report(j, stage, done, total) })
		cancel()
		j.mu.Lock()
		j.ended = true
		j.mu.Unlock()
		stop()
		close(j.done)
		c.post(func() {
			current := *kind == j
			if current {
				*kind = nil
			}
			c.waiting = j.began
			finish(current)
			c.waiting = time.Time{}
			c.showWork()
		})
	}()
	c.showWork()
}

// report is the progress of a job. It is called on the worker's goroutine.
func (c *Controller) report(j *job, stage app.Stage, done, total int64) {
	j.mu.Lock()
	fresh := stage != j.stage
	j.stage, j.count, j.all = stage, done, total
	now := time.Now()
	tell := fresh || now.Sub(j.reported) >= reportEvery
	if tell {
		j.reported = now
	}
	j.mu.Unlock()
	if tell {
		c.post(func() {
			c.showWork()
			if stage == app.StagePair || stage == app.StageResolve || stage == app.StageSymbols {
				c.contentGrew()
			}
			if stage == app.StageFilter && j == c.filtering {
				c.Filter.viewGrew()
			}
		})
	}
}

// end cancels a job, if there is one, and forgets it. The returned channel is
// closed when it has ended.
func end(kind **job) <-chan struct{} {
	j := *kind
	*kind = nil
	if j == nil {
		closed := make(chan struct{})
		close(closed)
		return closed
	}
	j.cancel()
	return j.done
}

// Cancel stops the work that is shown.
func (c *Controller) Cancel() {
	switch j := c.foremost(); j {
	case nil:
	case c.sorting:
		// A look at a file on a slow drive cannot be stopped; it is not waited for.
		end(&c.sorting)
		c.showWork()
	default:
		j.cancel()
	}
}

// CancelOpening stops opening a log and reports whether one was being opened.
func (c *Controller) CancelOpening() bool {
	switch {
	case c.reading && c.opening != nil:
		c.opening.cancel()
	case c.sorting != nil:
		end(&c.sorting)
		c.showWork()
	default:
		return false
	}
	return true
}

// foremost returns the work to show: the most important that has gone on for a
// while, or else the most important, or nil.
func (c *Controller) foremost() *job {
	var first *job
	jobs := append([]*job{c.saving, c.searching, c.filtering, c.opening, c.sorting, c.naming}, c.analysing.jobs()...)
	for _, j := range append(jobs, c.counting) {
		if j == nil {
			continue
		}
		j.mu.Lock()
		slow := j.slow
		j.mu.Unlock()
		if slow {
			return j
		}
		if first == nil {
			first = j
		}
	}
	return first
}

// showWork puts the foremost work into the state.
func (c *Controller) showWork() {
	var w Work
	if j := c.foremost(); j != nil {
		j.mu.Lock()
		w = Work{Title: stageTitle(j.title, j.stage), Done: j.count, Total: j.all, Slow: j.slow}
		if j.stage == app.StageFetch && c.session != nil {
			w.Title = fetchTitle(w.Title, c.session.Fetching(), j.count)
		}
		j.mu.Unlock()
	}
	if w != c.state.Work {
		c.state.Work = w
		c.changed(ChangeProgress)
	}
}
