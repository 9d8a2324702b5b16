package daemon

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
)

// Speed at which summaries are kept (docs/protocol.md#summaries). A segment that goes on changing
// would be counted in vain, so one is counted when its first change is 2 s old: the statuses of a
// segment come together. After a step the process rests summaryRest times as long as the step
// worked: 1/(1 + 19) is 5 % of a core at most. On a busy machine a step waits most of its time, so
// a segment counts as summaryWork at most, which it takes when the database reads its pages from
// the system. While every run has ended there is no sending to slow, so summaryRestEnded is half a
// core: the reports of a large run are asked for right after its end. A step is short, so that a
// change waits little more than 3 s for the next one. The numbers of a part of a run count as
// numbersWork at most, and have a rest of their own: counting goes on meanwhile.
const (
	summaryEvery     = time.Second
	summaryQuiet     = 2 * time.Second
	summaryStep      = 8 // segments
	summaryWork      = 10 * time.Millisecond
	numbersWork      = time.Second
	summaryRest      = 19
	summaryRestEnded = 1
	// responseStep is how many replies and opt-outs a step attributes, some 0.3 ms each.
	responseStep = 256
	// responsesUntil is the longest that the end of a process waits for the attribution of the last.
	responsesUntil = 2 * time.Second
)

// summarize keeps the summaries of the segments whose rows have changed until ctx ends. One replica
// at a time does it, also for replicas that died.
func (d *Daemon) summarize(ctx context.Context) {
	t := turn{job: d.job("summaries")}
	defer func() { _ = t.end() }() // the lease ends by itself
	failing := false
	var numbers time.Time // when numbers may be kept again
	for wait := summaryEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if wait = summaryEvery; !t.ours(ctx) {
			continue
		}
		rest := d.restOfSummaries(ctx)
		began := time.Now()
		n, err := d.ledger.FoldSummaries(ctx, summaryQuiet, summaryStep)
		if err == nil {
			_, _, err = d.ledger.AttributeResponses(ctx, responseStep)
		}
		took := rest * min(time.Since(began), summaryStep*summaryWork)
		if began = time.Now(); err == nil && !began.Before(numbers) {
			_, err = d.ledger.KeepNumbers(ctx)
			numbers = time.Now().Add(rest * min(time.Since(began), numbersWork))
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil || n < summaryStep {
			wait = max(wait, took)
		} else {
			wait = took
		}
		if failed := err != nil && !errors.Is(err, campaign.ErrUnwritable); failed != failing {
			if failing = failed; failing {
				d.log.Error("reports read every row: summaries cannot be kept, tried again each second", "err", err)
			} else {
				d.log.Info("summaries are kept again")
			}
		}
	}
}

// restOfSummaries returns how many times as long as it worked summarize rests. A ledger that cannot
// be read is told by the counting that follows.
func (d *Daemon) restOfSummaries(ctx context.Context) time.Duration {
	if unfinished, err := d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true, Limit: 1}); err == nil && len(unfinished) == 0 {
		return summaryRestEnded
	}
	return summaryRest
}

// attributeRest attributes the replies and opt-outs that came last, for the report of a run that
// ends. The others wait for the next process.
func (d *Daemon) attributeRest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), responsesUntil)
	defer cancel()
	for {
		judged, left, err := d.ledger.AttributeResponses(ctx, responseStep)
		if err == nil && left > 0 {
			var kept bool
			if kept, err = d.ledger.KeepNumbers(ctx); kept {
				continue
			}
		}
		if err != nil || judged < responseStep {
			return
		}
	}
}
