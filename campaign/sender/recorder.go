package sender

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"campaignd/campaign"
)

// recorder writes results in batches. It outlives the workers, so that the results of the posts in
// flight at the end are written too.
type recorder struct {
	o       Options
	ledger  Ledger
	in      chan unwritten
	waiting atomic.Int64 // results that were put and not collected yet
	since   atomic.Int64 // Unix nanoseconds: when the write of a batch began; 0: none is under way
	enough  signal       // sent when minBatch results wait, and when a whole batch does
	quit    chan struct{}
	ending  atomic.Bool // the process is asked to stop: few large transactions, so that all is written in time
	// facts is the context of every write. It does not end with the engine's, since results are still
	// written then. After its end nothing is written, and the results that wait are given up.
	facts  context.Context
	giveUp context.CancelFunc // ends facts
	lost   int                // results given up; used by the goroutine of run alone
}

// unwritten is a result that is not durable yet, and what waits for it: the segment and an entry of
// the wire
// log.
type unwritten struct {
	result  campaign.Result
	segment *segment
	entry   int
}

func newRecorder(l Ledger, o Options) *recorder {
	// 2,048: the results of four connections at 1,000/s in half a second, one slow commit.
	r := &recorder{o: o, ledger: l, in: make(chan unwritten, 2048), enough: newSignal(), quit: make(chan struct{})}
	r.facts, r.giveUp = context.WithCancel(context.Background())
	return r
}

// record completes the result of an attempt and hands it over.
func (r *recorder) record(n *number, a *attempt, res campaign.Result) {
	res.Run, res.Seq = a.delivery.Run, a.delivery.Seq
	res.Connection, res.Attempt = n.connection, a.nth
	res.IntentAt, res.Epoch = a.intentAt, a.segment.claimed.Epoch
	n.counts.note(res)
	if res.Kind == campaign.ResultRefused || res.Kind == campaign.ResultDeferred {
		a.charge.refund()
		if a.unsent != nil {
			a.unsent.Store(true)
		}
	}
	r.put(unwritten{res, a.segment, int(a.entry.Load()) - 1})
}

// put hands over a result. It blocks while the ledger is slow, at most until the end of facts; the
// posts wait too then. It wakes the writer when enough results wait, not for each result.
func (r *recorder) put(s unwritten) {
	r.in <- s
	if n := r.waiting.Add(1); n == minBatch || n >= maxBatch {
		r.enough.send()
	}
}

// end tells the recorder that the process is asked to stop. After d nothing more is written.
func (r *recorder) end(d time.Duration) {
	r.ending.Store(true)
	time.AfterFunc(d, r.giveUp)
}

// stop makes run return after it has written the results that were put.
func (r *recorder) stop() { close(r.quit) }

// endingBatch is the most results in one transaction while the process is asked to stop. 4,096: at
// 2 s a commit, the 2,048 results that wait and the posts of four busy connections need two of
// them.
const endingBatch = 4096

// most is the most results in one transaction.
func (r *recorder) most() int {
	if r.ending.Load() {
		return endingBatch
	}
	return maxBatch
}

// Results wait Options.Flush for others. Fewer than minBatch results wait up to maxLinger instead:
// a replica that has only a share of a number's rate would otherwise commit nearly each result
// alone (docs/protocol.md#results).
const (
	minBatch  = 8
	maxBatch  = 256 // the most results in one transaction
	maxLinger = 80 * time.Millisecond
)

// run writes results, many in one transaction, until stop.
func (r *recorder) run() {
	defer func() {
		if r.lost > 0 {
			r.o.Log.Error("results were not written: they are in doubt until a webhook proves them", "results", r.lost)
		}
	}()
	batch := make([]unwritten, 0, maxBatch)
	for {
		select {
		case s := <-r.in:
			batch = append(batch, s)
		case <-r.quit:
			r.drain(batch)
			return
		}
		if !r.linger() {
			r.drain(batch)
			return
		}
		batch = r.collect(batch)
		r.write(batch)
		batch = batch[:0]
	}
}

// linger waits, after the first result of a batch, until the batch is to be written: at once with
// maxBatch results, after Options.Flush with minBatch or more, after maxLinger with fewer. It
// reports false when run is to end.
func (r *recorder) linger() bool {
	began := time.Now()
	wait := r.o.Flush
	if r.waiting.Load() < minBatch {
		wait = max(wait, maxLinger)
	}
	t := time.NewTimer(r.o.Jitter("flush", wait))
	defer t.Stop()
	for r.waiting.Load() < maxBatch {
		select {
		case <-t.C:
			return true
		case <-r.enough:
			if r.waiting.Load() >= minBatch {
				t.Reset(max(r.o.Jitter("flush", r.o.Flush)-time.Since(began), 0))
			}
		case <-r.facts.Done():
			return true
		case <-r.quit:
			return false
		}
	}
	return true
}

// collect moves results that were put to batch, up to the most of one transaction.
func (r *recorder) collect(batch []unwritten) []unwritten {
	for len(batch) < r.most() && len(r.in) > 0 { // no other goroutine receives
		batch = append(batch, <-r.in)
	}
	r.waiting.Add(-int64(len(batch)))
	return batch
}

// drain writes batch and all results that were put. Every worker has returned, so no more come.
func (r *recorder) drain(batch []unwritten) {
	for len(batch) > 0 || len(r.in) > 0 {
		batch = r.collect(batch)
		r.write(batch)
		batch = batch[:0]
	}
}

// write commits one batch. It tries again until it succeeds, or until the end of facts. A result
// that is not written by then becomes a doubt, which a webhook can prove.
func (r *recorder) write(batch []unwritten) {
	rs := make([]campaign.Result, len(batch))
	for i := range batch {
		rs[i] = batch[i].result
	}
	r.since.Store(time.Now().UnixNano())
	defer r.since.Store(0)
	wait, said := 20*time.Millisecond, ""
	for {
		if r.facts.Err() != nil {
			r.lose(batch)
			return
		}
		ctx, cancel := context.WithTimeout(r.facts, 10*time.Second)
		err := r.ledger.Record(ctx, rs)
		cancel()
		if err == nil {
			break
		}
		if why := cause(err); why != said && !errors.Is(err, campaign.ErrUnwritable) { // a reason is logged once, not at each try
			said = why
			r.o.Log.Error("results cannot be written: trying again until they can", "results", len(rs), "err", err)
		}
		sleep(r.facts, r.o.Jitter("record", wait))
		wait = min(2*wait, 2*time.Second)
	}
	if said != "" {
		r.o.Log.Info("results are written again", "results", len(rs))
	}
	for i := range batch {
		// The ledger ignores a doubt of a fenced process. A doubt that was recorded may so not be
		// durable.
		if r.o.Wire != nil && batch[i].result.Kind != campaign.ResultDoubt {
			r.o.Wire.Recorded(batch[i].entry)
		}
		batch[i].segment.recorded(batch[i].result)
	}
}

// lose gives a batch up.
func (r *recorder) lose(batch []unwritten) {
	r.lost += len(batch)
	for _, s := range batch {
		s.segment.givenUp()
	}
}
