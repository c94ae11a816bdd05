package classic

import (
	"context"
	"io"

	"logparser/parser"
	"logparser/timeparse"
)

// headSamples is how many records, evenly over the file, are looked at before the first ones are taken for
// those of its only run.
const headSamples = 128

// OpenHead opens the first records of the log at path, with their modules and their time of day. What the whole
// file would say of them is taken to be what these records and some from all over the file say: that it has one
// run, without damage, which the modules file describes, if there is one. It returns nil where anything speaks
// against that.
func OpenHead(ctx context.Context, path string, opt parser.Options, records int64) (*Log, error) {
	f, err := openShared(path)
	if err != nil {
		return nil, err
	}
	opt.Found = nil
	// Records of either size end there.
	log, err := openFile(ctx, f, path, opt, records*(2*Size64), nil)
	if err != nil {
		f.Close()
		return nil, err
	}
	log.file = f
	v := log.view.Load()
	info := &v.info
	if len(info.Runs) != 1 || len(info.Damage) > 0 || info.DamageBytes > 0 || len(v.epochs) > 1 || !log.o.describesHead() {
		log.Close()
		return nil, nil
	}
	ok, err := log.o.goesOn(ctx)
	if err != nil || !ok {
		log.Close()
		return nil, err
	}
	return log, nil
}

// describesHead reports whether the modules file, if there is one, was written before the last of the
// records that were opened, and describes the one run that they are. A file that was written later may
// describe a run that begins later.
func (o *opener) describesHead() bool {
	if len(o.modules.Modules) == 0 && !o.ticks {
		return true
	}
	if o.described != 0 {
		return false
	}
	if !o.ticks {
		return true
	}
	run := o.log.info.Runs[0]
	first, ok, err := o.log.firstTime(run.First, run.First+run.Count)
	if err != nil || !ok {
		return false
	}
	last, _, err := o.log.lastTime(run.First, run.First+run.Count)
	at := timeparse.Nearest(o.start, first)
	return err == nil && at >= 0 && at <= last
}

// goesOn reports whether records at places from the beginning of the file to its end are such as go on from
// the first ones: whole ones, whose ticks never go back by more than threads do it.
func (o *opener) goesOn(ctx context.Context) (bool, error) {
	size := int64(o.width.size)
	all := o.stat.Size() / size
	n := min(headSamples, all)
	var b [Size64]byte
	var prev uint32
	for k := range n {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		at := (all - 1) * k / max(n-1, 1) * size
		if got, err := o.r.ReadAt(b[:size], at); got < int(size) {
			if err == io.EOF {
				return false, nil // it has become shorter
			}
			return false, err
		}
		r := parseRecord(b[:size])
		if !plausible(r, o.width.size) || k > 0 && int64(r.tick)-int64(prev) < -backward {
			return false, nil
		}
		prev = r.tick
	}
	return true, nil
}
