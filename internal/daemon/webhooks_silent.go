package daemon

import (
	"context"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/sender"
)

const (
	// silentAfter is how long no event may come after messages were accepted. Statuses of the platform
	// come within seconds; a delivery that failed is repeated after 1, 5 and 30 minutes.
	silentAfter = 10 * time.Minute
	// silentEvery is how often silence.look is called.
	silentEvery = time.Minute
)

// silence notices that messages are accepted and no verified event comes: the endpoint is not
// registered, not reachable, or signs with another secret.
type silence struct {
	d        *Daemon
	stats    func() []sender.Stats
	accepted int64     // of this process, at the last look
	looked   time.Time // when that was
	since    time.Time // the first look at which accepted had grown after the last event; zero: nothing waits
	warned   bool
}

// watchSilence looks until ctx ends.
func (d *Daemon) watchSilence(ctx context.Context, e *sender.Engine) {
	s := &silence{d: d, stats: e.Stats}
	t := time.NewTicker(silentEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if last, err := s.lastEvent(ctx); err == nil {
			s.look(time.Now(), last)
		}
	}
}

// look logs one line when the silence is long, and one when it ends. last is the time of the last
// event.
func (s *silence) look(now, last time.Time) {
	accepted := int64(0)
	for _, c := range s.stats() {
		accepted += c.Accepted
	}
	if last.After(s.since) {
		s.since = time.Time{}
		if s.warned {
			s.warned = false
			s.d.log.Info("webhook events are arriving again", "last", last)
		}
	}
	if accepted > s.accepted && s.since.IsZero() && !last.After(s.looked) {
		s.since = now
	}
	s.accepted, s.looked = accepted, now
	if s.warned || s.since.IsZero() || now.Sub(s.since) < silentAfter {
		return
	}
	s.warned = true
	s.d.log.Warn("messages are accepted and no verified event comes: neither statuses nor opt-outs are seen; "+
		"`campaignd webhooks test` and `campaignd doctor` look for the cause", "accepted", accepted, "since", s.since, "last", last)
}

// silentRuns is how many of the newest runs are asked for their last event, beside the unfinished
// ones.
const silentRuns = 50

// lastEvent is when the last verified event came: any event to this process, or a status that
// another process applied to an unfinished run or to one of the newest ended runs, whose statuses
// come after their end.
func (s *silence) lastEvent(ctx context.Context) (last time.Time, err error) {
	if s.d.intake != nil {
		last = s.d.intake.Counts().LastVerified()
	}
	runs, err := s.d.ledger.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return last, err
	}
	newest, err := s.d.ledger.Runs(ctx, campaign.RunFilter{Limit: silentRuns})
	if err != nil {
		return last, err
	}
	for _, r := range append(runs, slices.DeleteFunc(newest, func(r campaign.Run) bool { return !r.State.Ended() })...) {
		at, err := s.d.ledger.LastEventAt(ctx, r.No)
		if err != nil {
			return last, err
		}
		last = later(last, at)
	}
	return last, nil
}
