package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
)

const (
	// replayAfter is how long no webhook was taken when a replay is asked for. The service repeats
	// after one minute by itself (docs/service.md#delivery-of-events).
	replayAfter = 2 * time.Minute
	// replayBefore is how much earlier a replay begins than the outage: a delivery may wait in a
	// proxy, and the last record of the intake in the ledger may be reception.ListenEvery old.
	replayBefore = 5 * time.Minute
	// causes of a replay, for the log.
	outageCause  = "no webhooks were taken for a while"
	refusedCause = "events were refused for their signature for a while, and are taken again"
	// replayLease keeps replicas that start together from asking for the same replay.
	replayLease = 5 * time.Minute
)

// replayWaits are the waits between tries to ask for a replay.
var replayWaits = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute}

// outage returns when webhooks were taken last, if that was so long ago that a replay is due. It is
// called before this process takes any.
func (d *Daemon) outage(ctx context.Context, now time.Time) (since time.Time, due bool) {
	if d.client == nil || d.client.Service == nil { // the Cloud API offers no replay
		return since, false
	}
	spans, err := d.ledger.Listened(ctx, now.Add(-reception.ListenKept))
	if err != nil {
		return since, false // the intake says that the ledger is away
	}
	for _, s := range spans {
		since = later(since, s.Until)
	}
	return since, !since.IsZero() && now.Sub(since) > replayAfter
}

// oweReplay is told since when a replay is due of events that were refused.
func (d *Daemon) oweReplay(since time.Time) {
	select {
	case d.refused <- since:
	default: // one is under way, which asks for the events up to now
	}
}

// replayRefused asks for the events that were refused for their signature, whenever the intake says
// that it is due, until ctx ends.
func (d *Daemon) replayRefused(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case since := <-d.refused:
			if d.client != nil && d.client.Service != nil {
				d.askReplay(ctx, since, refusedCause)
			}
		}
	}
}

// askReplay asks the service once to post the events of an outage again, and logs the cause.
// Without it the service repeats them too, but for 8 h 36 min only and hours apart.
func (d *Daemon) askReplay(ctx context.Context, outage time.Time, cause string) {
	job := d.job("replay webhooks")
	if _, ours, err := job.Ledger.AcquireJob(ctx, job.Name, job.Owner, replayLease); err != nil || !ours {
		return // a replica asks, or the ledger is away and the service repeats
	}
	since, until := outage.Add(-replayBefore), time.Now()
	for n := 0; ; n++ {
		span := reception.Span{Since: since, Until: until}
		d.noteReplay(ctx, span, time.Time{}, 0)
		deliveries, err := d.client.Service.Replay(ctx, d.cfg.Webhooks.Path, since, until)
		var answer *messaging.Error
		switch {
		case errors.As(err, &answer) && answer.Status/100 == 2: // it posts them, and did not tell how many
			d.noteReplay(ctx, span, time.Now(), 0)
			d.log.Warn(cause+": the service posts them again, but its answer is faulty", "since", since, "until", until, "err", err)
			return
		case err == nil:
			d.noteReplay(ctx, span, time.Now(), deliveries)
			d.log.Info(cause+": the service posts them again", "since", since, "until", until,
				"deliveries", deliveries)
			return
		case errors.Is(err, messaging.ErrNotOffered):
			d.log.Info(cause+", and the service offers no replay: it repeats them for 8 h 36 min by itself",
				"since", outage)
			return
		case n == len(replayWaits):
			d.log.Warn(cause+", and the service takes no request to post them again: "+
				"`campaignd webhooks replay` asks later", "since", since, "err", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(replayWaits[n]):
		}
	}
}

// noteReplay tells the ledger what the service posts again.
func (d *Daemon) noteReplay(ctx context.Context, s reception.Span, asked time.Time, deliveries int64) {
	if err := d.ledger.NoteReplay(ctx, s, asked, deliveries); err != nil {
		d.log.Warn("the ledger does not know that events are replayed: ask again before unknown rows are sent again", "err", err)
	}
}

// NoteReplay tells the ledger, if there is one, that the service posts the events of s again
// (reception.ListenLedger).
func NoteReplay(ctx context.Context, cfg *config.Config, s reception.Span, asked time.Time, deliveries int64, log *slog.Logger) error {
	return withEvents(ctx, cfg, log, func(l campaign.EventLedger) error { return l.NoteReplay(ctx, s, asked, deliveries) })
}

// EndReplay tells the ledger, if there is one, that no more deliveries of a replay are waited for.
// It returns how many did not come.
func EndReplay(ctx context.Context, cfg *config.Config, log *slog.Logger) (missing int64, err error) {
	return missing, withEvents(ctx, cfg, log, func(l campaign.EventLedger) error {
		lost, err := l.LostTimes(ctx)
		for _, t := range lost {
			if err != nil {
				return err
			}
			if t.Replaying() {
				missing += t.Deliveries - t.Came
				err = l.CountReplayed(ctx, t.At, t.Deliveries-t.Came)
			}
		}
		return err
	})
}

// withEvents opens the ledger, if there is one.
func withEvents(ctx context.Context, cfg *config.Config, log *slog.Logger, do func(campaign.EventLedger) error) error {
	if cfg.NoLedger() {
		return nil
	}
	l, err := OpenLedger(ctx, cfg, false, log)
	if err != nil {
		return err
	}
	defer closing(l, log)
	return do(l)
}
