package postgres

import (
	"context"
	"errors"
	"time"

	"campaignd/campaign"
	"campaignd/internal/mutant"
)

// commitIntents takes two round trips whatever the number of intents: one reads all they depend
// on and locks their segments, one writes and commits. A retry that is no longer due stands in
// Skipped with the reason "".
//
// The run's wanted state and the suppressions are read without a lock by the
// transaction's own statements: whatever was committed before it began is obeyed, and a
// pause or a STOP never waits for a sender.
func (l *Ledger) commitIntents(ctx context.Context, in []campaign.Intent) (granted []campaign.Granted, err error) {
	if err := l.checkIdentity(ctx); err != nil {
		return nil, err
	}
	mutant.Crash("intent_planned")
	within, cancel := context.WithTimeoutCause(ctx, callTime, errSilent)
	defer cancel()
	for n := 0; ; n++ {
		var g *grants
		err := l.retryIntend(within, func() error {
			return l.transact(within, l.sender, "begin", "intent_before_commit", false, func(t *tx) (err error) {
				if l.identityChanged.Load() {
					return errIdentityChanged
				}
				g, err = l.intend(t, in)
				return err
			})
		})
		if errors.Is(err, errIdentityChanged) {
			switch stands := l.checkIdentity(within); {
			case stands != nil:
				err = stands
			case n+1 < tries:
				continue
			}
		}
		if err == nil {
			err = g.check()
		}
		if errors.Is(err, campaign.ErrUnknownCommit) {
			l.sender.forget()
			switch fate := l.readBack(ctx, g); {
			case fate == committed:
				err = nil
			case fate == vanished && within.Err() != nil:
				err = within.Err() // surely not committed, and there is no time to ask again
			case fate == vanished && n+1 < tries:
				continue
			}
		}
		if err != nil {
			return nil, l.explain(err)
		}
		for _, s := range g.segments {
			if s.moved() {
				l.marks.keep(s.id, s.mark, g.at)
			}
		}
		return g.answers, nil
	}
}

// retryIntend is retry for a transaction whose commit must not be repeated blindly.
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

// fate is what became of a transaction whose commit was not answered.
type fate int

const (
	uncertain fate = iota
	committed
	vanished
)

// readBack finds out whether the grants were committed. It locks what they wrote, so that
// it waits for a server process that is still at it. All of one transaction is committed or
// nothing, so one segment that is still ours tells. The epoch is compared too: another
// owner may have moved the mark to the same value (reliability.md 1.3).
func (l *Ledger) readBack(ctx context.Context, g *grants) (f fate) {
	// It decides whether recipients end in doubt, so it is asked although the caller's time is over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime/2)
	defer cancel()
	wrote, tells := false, false
	for _, s := range g.segments {
		wrote, tells = wrote || s.wrote, tells || s.tells()
	}
	switch {
	case !wrote:
		return committed
	case !tells:
		return vanished // nothing was granted: to ask again does no harm
	}
	for {
		err := l.transact(ctx, l.sender, "begin", "", false, func(t *tx) (err error) {
			f, err = g.fate(t)
			return err
		})
		if err == nil {
			return f
		}
		l.sender.forget()
		select {
		case <-ctx.Done():
			return uncertain
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// fate asks the segments until one that is still ours tells.
func (g *grants) fate(t *tx) (fate, error) {
	for _, s := range g.segments {
		if !s.tells() {
			continue
		}
		var epoch, mark, retried int64
		if err := t.do(rowOf([]any{&epoch, &mark}, `SELECT epoch, mark FROM segment WHERE id = $1 FOR NO KEY UPDATE`, s.id),
			row(&retried, `SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) w (r, attempt) JOIN outcome o ON o.rid = w.r
				WHERE o.state = 2 AND o.attempt = w.attempt`, s.retried, s.attempts)); err != nil {
			return uncertain, err
		}
		switch {
		case epoch != s.epoch && !mutant.On("readback_without_epoch"): // fenced: it cannot tell any more
		case s.moved() && mark == s.mark, !s.moved() && retried > 0:
			return committed, nil
		case mark == s.from:
			return vanished, nil
		}
	}
	return uncertain, nil
}
