package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// commitIntents takes two round trips, however many intents there are. The first reads all that
// they depend on and locks their segments; the second writes and commits. In Granted.Skipped the
// reason "" marks a retry that is no longer due, or for which the budget or the tier has no place.
//
// The transaction reads the run's wanted state and the suppressions without a lock. It obeys what
// was committed before it began, and a pause or an opt-out never waits for a sender.
func (l *Ledger) commitIntents(ctx context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	if err := l.checkIdentity(ctx); err != nil {
		return nil, err
	}
	if err := l.countReached(ctx, in); err != nil {
		return nil, err
	}
	mutant.Crash("intent_planned")
	within, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	for n := 0; ; n++ {
		var g *grants
		err := l.retryIntend(within, func() error {
			return l.transact(within, l.sender, sqlBegin, "intent_before_commit", false, func(t *tx) (err error) {
				if l.identityChanged.Load() {
					return errIdentityChanged
				}
				g, err = l.intend(t, in)
				return err
			})
		})
		if errors.Is(err, errIdentityChanged) {
			switch changed := l.checkIdentity(within); {
			case changed != nil:
				err = changed
			case n+1 < tries:
				continue
			}
		}
		if err == nil {
			err = g.check()
		}
		if errors.Is(err, campaign.ErrUnknownCommit) {
			l.sender.Forget()
			switch state := l.readBack(ctx, g); {
			case state == committed:
				err = nil
			case state == vanished && within.Err() != nil:
				err = within.Err() // it was not committed, and there is no time to try again
			case state == vanished && n+1 < tries:
				continue
			}
		}
		if err != nil {
			return nil, l.explain(err)
		}
		for _, s := range g.segments {
			if s.raised() {
				l.marks.keep(s.id, s.mark, g.at)
			}
		}
		return g.answers, nil
	}
}

// retryIntend is retry, except that it returns campaign.ErrUnknownCommit at once: a commit of
// intents must not be repeated before readBack.
func (l *Ledger) retryIntend(ctx context.Context, f func() error) error {
	var unknown error
	err := l.retry(ctx, l.sender, func() error {
		err := f()
		if errors.Is(err, campaign.ErrUnknownCommit) {
			unknown = err
			return nil
		}
		return err
	})
	if unknown != nil {
		return unknown
	}
	return err
}

// commitState is what became of a transaction whose commit was not answered.
type commitState int

const (
	uncertain commitState = iota
	committed
	vanished
)

// readBack finds out whether the grants were committed. It locks the rows that they wrote, and so
// waits for a server process that still commits them. A transaction is committed as a whole, so one
// segment whose epoch is unchanged answers for all. Without the epoch the mark would not prove it:
// another owner may have moved it to the same value (docs/protocol.md#intents).
func (l *Ledger) readBack(ctx context.Context, g *grants) (state commitState) {
	// The answer decides whether recipients end in doubt, so the end of the caller's time does not
	// end the query.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime/2)
	defer cancel()
	wrote, tells := false, false
	for _, s := range g.segments {
		wrote, tells = wrote || s.wrote, tells || s.tells()
	}
	switch {
	case !wrote:
		return committed // nothing was to be written, so the answers are right
	case !tells:
		return vanished // nothing was granted, so it is safe to try again whether or not it was committed
	}
	for {
		err := l.transact(ctx, l.sender, sqlBegin, "", false, func(t *tx) (err error) {
			state, err = g.wasCommitted(t)
			return err
		})
		if err == nil {
			return state
		}
		l.sender.Forget()
		select {
		case <-ctx.Done():
			return uncertain
		case <-time.After(50 * time.Millisecond):
		}
	}
}

const (
	sqlReadBack      = `SELECT epoch, mark FROM segment WHERE id = $1 FOR NO KEY UPDATE`
	sqlCountRetrying = `SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) w (r, attempt) JOIN outcome o ON o.rid = w.r
		WHERE o.state = 2 /* retrying */ AND o.attempt = w.attempt`
)

// wasCommitted reads the segments until one whose lease this owner still has gives the answer.
func (g *grants) wasCommitted(t *tx) (commitState, error) {
	for _, id := range slices.Sorted(maps.Keys(g.segments)) { // locks are taken in one order everywhere
		s := g.segments[id]
		if !s.tells() {
			continue
		}
		var epoch, mark, retried int64
		if err := t.do(rowOf([]any{&epoch, &mark}, sqlReadBack, s.id),
			row(&retried, sqlCountRetrying, s.retried, s.attempts)); err != nil {
			return uncertain, err
		}
		switch {
		case epoch != s.epoch: // fenced: this segment gives no answer
		case s.raised() && mark == s.mark, !s.raised() && retried > 0:
			return committed, nil
		case mark == s.from:
			return vanished, nil
		}
	}
	return uncertain, nil
}
