package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/numbers"
	"campaignd/internal/operator"
	"campaignd/internal/schedule"
	"campaignd/internal/wirelog"
)

// restorable is a ledger that can go back in time, as both backends can.
type restorable interface {
	campaign.Ledger
	ledger.Sendable
	// Restored returns ledger.ErrRestored with its reason until the ledger is quarantined, and nil
	// for a ledger that did not go back in time.
	Restored(ctx context.Context) error
	// Quarantine puts in doubt what may have been posted from since on: up to ahead deliveries of
	// each unfinished segment, and up to of[run] where of has the run. It returns their number.
	Quarantine(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
	// Newest returns the time of the newest record that cannot have been written after the ledger
	// went back in time. Zero: there is none.
	Newest(ctx context.Context) (time.Time, error)
	// Rehearse returns the number that Quarantine would return, and changes nothing.
	Rehearse(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
}

var (
	_ restorable = (*sqlite.Ledger)(nil)
	_ restorable = (*postgres.Ledger)(nil)
)

// QuarantineOptions are the options of `campaignd ledger quarantine`.
type QuarantineOptions struct {
	// Lost is how long sending may have gone on after the ledger's newest record. 0: not at all.
	Lost time.Duration
	// Ahead is the number of deliveries of each segment that may have been posted in that time.
	// A negative number takes the highest rate of each run x Lost.
	Ahead int64
	// Force also quarantines a ledger that does not seem to have gone back in time.
	Force bool
	// DryRun counts, and changes nothing.
	DryRun bool
	// Log takes the log. Nil: nothing is logged.
	Log *slog.Logger
}

// Quarantined is what a quarantine found and did. In a dry run it is what would be done.
type Quarantined struct {
	Ledger   string `json:"ledger"`
	WentBack bool   `json:"went_back"`
	// Done is false for a dry run, and for a ledger that was left as it is.
	Done   bool `json:"done"`
	DryRun bool `json:"dry_run,omitempty"`
	// Newest is the time of the newest record that was certainly written before the ledger went back.
	// Results, events and lanes do not count: processes record them in a promoted standby too.
	Newest time.Time `json:"newest_record,omitzero"`
	// Since is when the lost time began at the earliest. The operator has webhooks replayed from here.
	Since time.Time `json:"since,omitzero"`
	// Rate is the highest rate of the connections of unfinished runs, in messages per second.
	Rate float64 `json:"rate,omitempty"`
	// Connection is the connection with that rate.
	Connection string `json:"connection,omitempty"`
	// Assumed lists the connections whose rate neither the configuration nor the service told.
	Assumed []string `json:"rates_assumed,omitempty"`
	// Ahead is the number of deliveries of an unfinished segment that may have been posted, at the
	// most; QuarantinedRun.Ahead is that of one run.
	Ahead  int64 `json:"ahead"`
	Doubts int64 `json:"put_in_doubt"`
	// Runs lists the unfinished runs, newest first.
	Runs []QuarantinedRun `json:"runs"`
	// Firings lists the firings of the campaigns folder that are closed.
	Firings []schedule.LostFiring `json:"firings,omitempty"`
	// ErasuresIn is the file that has the erasures outside the ledger, and Erasures how many of them
	// are of the lost time. The operator has them repeated.
	ErasuresIn string `json:"erasures_in,omitempty"`
	Erasures   int    `json:"erasures,omitempty"`

	of  map[campaign.RunNo]int64   // Ahead of each run; nil if --ahead gave one for all
	own map[campaign.RunNo]float64 // the own rates that made it lower
}

// QuarantinedRun is an unfinished run after the quarantine.
type QuarantinedRun struct {
	Run     string               `json:"run"`
	State   campaign.State       `json:"state"`
	Reason  campaign.PauseReason `json:"reason,omitempty"`
	InDoubt int64                `json:"in_doubt"`
	Queued  int64                `json:"queued"`
	// Ahead is the number of deliveries of each of its segments that may have been posted.
	Ahead int64 `json:"ahead"`
	// OwnRate is the run's own rate, if it allows fewer messages than the run's numbers; else 0.
	OwnRate float64 `json:"own_rate,omitempty"` // messages per second
}

// Quarantine opens a ledger that went back in time, puts in doubt what may have been posted in the
// lost time, and pauses its runs (docs/protocol.md#when-the-ledger-goes-back-in-time). It takes the
// sender's lock of an SQLite ledger and returns campaign.ErrLocked beside a running sender; senders
// over PostgreSQL stay. Rates that the configuration does not have are asked from the service, and
// assumed if it does not tell.
func Quarantine(ctx context.Context, cfg *config.Config, o QuarantineOptions) (q Quarantined, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	opened, err := backend.Open(ctx, cfg.Ledger, ledger.Options{Sender: true, AcceptRestored: true, Log: o.Log, Address: cfg.LedgerNow(),
		Connections: cfg.LedgerConnections})
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	l, ok := opened.(restorable)
	if !ok {
		return q, fmt.Errorf("ledger %s cannot be quarantined", cfg.Masked().Ledger)
	}
	q = Quarantined{Ledger: cfg.Masked().Ledger, DryRun: o.DryRun, Runs: []QuarantinedRun{}}
	wire, err := openWireLog(cfg, l, ownerName(), o.Log)
	switch {
	case errors.Is(err, campaign.ErrLocked) && cfg.SharedLedger():
		// A sender runs in this folder and stays: it has stated what dead processes left there.
		o.Log.Info("a running process keeps the wire logs of data_dir", "err", err)
	case err != nil:
		return q, err
	}
	defer func() { err = errors.Join(err, wire.Close()) }()
	switch err := wentBack(ctx, l, wire); {
	case errors.Is(err, ledger.ErrRestored):
		q.WentBack = true
	case err != nil:
		return q, err
	case !o.Force:
		return q, nil
	}
	runs, err := l.Runs(ctx, campaign.RunFilter{})
	if err != nil {
		return q, fmt.Errorf("read runs: %w", err)
	}
	if err := q.begin(ctx, l, runs, o.Lost); err != nil {
		return q, err
	}
	if q.Ahead = o.Ahead; q.Ahead < 0 {
		if err := q.estimate(ctx, cfg, l, runs, o.Lost, o.Log); err != nil {
			return q, err
		}
	}
	if !o.DryRun {
		did := fmt.Sprintf("lost %s since %s, %d ahead", o.Lost, q.Since.Format(time.RFC3339), q.Ahead)
		s := &operator.Session{Ledger: l, Trail: operator.NewTrail("")}
		if err := s.Note(ctx, operator.LocalUser(), "quarantine", "ledger", did); err != nil {
			return q, err
		}
		defer func() { err = errors.Join(err, s.Finish(ctx, "", "", operator.Result(err))) }()
	}
	if o.Lost > 0 {
		q.Firings, err = schedule.New(schedule.Options{Config: cfg, Ledger: l, Log: o.Log}).CloseFirings(ctx, runs, q.DryRun)
		if err != nil {
			return q, err
		}
	}
	if q.ErasuresIn = cfg.Erasures(); q.ErasuresIn != "" && o.Lost > 0 {
		if _, q.Erasures, err = operator.NotedErasures(q.ErasuresIn, l.LedgerID(), q.Since); err != nil {
			o.Log.Warn("the erasures of the lost time cannot be read", "err", err) // their own command says so, too
		}
	}
	if o.DryRun {
		q.Doubts, err = l.Rehearse(ctx, q.Ahead, q.of, q.Since)
	} else {
		lost := q.Since
		if o.Lost <= 0 && q.Ahead <= 0 {
			lost = time.Time{} // nothing was
		}
		q.Doubts, err = l.Quarantine(ctx, q.Ahead, q.of, lost)
	}
	if err != nil {
		return q, err
	}
	if q.Done = !o.DryRun; q.Done {
		// The doubts cover what the dead processes posted. Their logs name runs of the lost time, whose
		// numbers other runs get now.
		for _, dead := range wire.Dead() {
			if err := wire.Stated(dead); err != nil {
				return q, fmt.Errorf("a wire log of before the quarantine stays and would stop the next start: %w", err)
			}
		}
	}
	return q, q.count(ctx, l)
}

// wentBack returns ledger.ErrRestored when the ledger or the wire log of a dead process shows that
// the ledger went back in time. It also records in the ledger what the wire logs state, as the next
// start would.
func wentBack(ctx context.Context, l restorable, wire *wirelog.Log) error {
	if err := l.Restored(ctx); err != nil {
		return err
	}
	for _, dead := range wire.Dead() {
		if _, err := l.Unposted(ctx, dead.WireLog); err != nil {
			return err
		}
	}
	return nil
}

// begin finds when the lost time began, however late the operator comes: a little before the newest
// record that cannot be of later. Events that were tried before that, and missed, may have come
// again in the lost time.
func (q *Quarantined) begin(ctx context.Context, l restorable, runs []campaign.Run, lost time.Duration) (err error) {
	if q.Newest, err = l.Newest(ctx); err != nil {
		return fmt.Errorf("read the newest record: %w", err)
	}
	began := q.Newest
	for _, r := range runs { // newest first; the oldest counts when no record tells more
		if q.Newest.IsZero() && !r.State.Ended() {
			began = r.CreatedAt
		}
	}
	q.Since = time.Now().Add(-lost)
	if !began.IsZero() && began.Before(q.Since) {
		q.Since = began
	}
	listening, err := reception.ReadListening(ctx, l, nil, q.Since)
	if err != nil {
		return err
	}
	q.Since = listening.Missed().Add(-replayBefore).UTC().Truncate(time.Second)
	return nil
}

// askRates is how long the service may take to tell its numbers. After that their rates are
// assumed.
const askRates = 10 * time.Second

// estimate computes Ahead of each run. No segment can have been sent faster than the fastest number
// of its run sends, or than the run's own rate allows.
func (q *Quarantined) estimate(
	ctx context.Context, cfg *config.Config, l historian, runs []campaign.Run, lost time.Duration, log *slog.Logger,
) error {
	unfinished, defs := []campaign.Run{}, []*file.Definition{}
	var connections, untold []string
	for _, r := range runs {
		if r.State.Ended() {
			continue
		}
		d, err := file.ParseStored(r.ID(), r.Definition)
		if err != nil {
			return fmt.Errorf("the stored campaign of %s: %w; give --ahead", r.ID(), err)
		}
		unfinished, defs = append(unfinished, r), append(defs, d)
		connections = append(connections, d.Connections...)
	}
	slices.Sort(connections)
	connections = slices.Compact(connections)
	for _, c := range connections {
		if cfg.Numbers[c].Rate <= 0 {
			untold = append(untold, c)
		}
	}
	n := numbers.NewDirectory(cfg)
	if len(untold) > 0 {
		if err := n.Ask(ctx, askRates, n.Refresh); err != nil {
			log.Warn("the service does not say the rates of its numbers", "err", err)
		}
	}
	for _, c := range untold {
		if !n.Told(c) {
			q.Assumed = append(q.Assumed, c)
		}
	}
	q.of, q.own = map[campaign.RunNo]int64{}, map[campaign.RunNo]float64{}
	for i, r := range unfinished {
		d, fastest := defs[i], 0.0
		for _, c := range d.Connections {
			rate := n.AssumedPace(c)
			fastest = max(fastest, rate)
			if rate > q.Rate {
				q.Rate, q.Connection = rate, c
			}
		}
		q.of[r.No] = int64(math.Ceil(fastest * lost.Seconds()))
		own, err := ownRate(ctx, l, r, d, q.Since)
		if err != nil {
			return err
		}
		// In any time t a run gets at most rate x (t + 1 s) + 1 (docs/limits.md#a-runs-own-rate).
		if most := int64(math.Ceil(own*(lost.Seconds()+1))) + 1; own > 0 && most < q.of[r.No] {
			q.of[r.No], q.own[r.No] = most, own
		}
	}
	q.Ahead = int64(math.Ceil(q.Rate * lost.Seconds()))
	return nil
}

// historian knows what happened to a run.
type historian interface {
	History(ctx context.Context, no campaign.RunNo) (campaign.History, error)
}

// ownRate returns the highest rate of its own that a run had since a time, 0 if it had none at
// some time. An operator may have lowered it after the ledger went back, and before the quarantine.
func ownRate(ctx context.Context, l historian, r campaign.Run, d *file.Definition, since time.Time) (float64, error) {
	h, err := l.History(ctx, r.No)
	if err != nil {
		return 0, fmt.Errorf("read the history of %s: %w", r.ID(), err)
	}
	rates := []float64{d.Limits.Rate} // in force since then
	for _, e := range h.Entries {
		if e.Kind != campaign.HistoryLimits {
			continue
		}
		var c campaign.LimitChange
		if err := json.Unmarshal([]byte(e.Value), &c); err != nil {
			return 0, fmt.Errorf("the history of %s: %w; give --ahead", r.ID(), err)
		}
		rate := d.Limits.Rate
		if c.Rate != nil {
			rate = *c.Rate
		}
		if e.At.Before(since) {
			rates = rates[:0]
		}
		rates = append(rates, rate)
	}
	rates = append(rates, d.LimitsOf(r).Rate)
	if slices.Contains(rates, 0) {
		return 0, nil
	}
	return slices.Max(rates), nil
}

// count fills Runs from the ledger.
func (q *Quarantined) count(ctx context.Context, l campaign.Ledger) error {
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	for _, r := range runs {
		tallies, _, err := l.Tallies(ctx, r.No)
		if err != nil {
			return fmt.Errorf("count %s: %w", r.ID(), err)
		}
		one := QuarantinedRun{Run: r.ID(), State: r.State, Reason: r.Reason, Ahead: q.Ahead, OwnRate: q.own[r.No]}
		if n, ok := q.of[r.No]; ok {
			one.Ahead = n
		}
		for _, t := range tallies {
			switch t.Status {
			case campaign.InDoubt:
				one.InDoubt += t.N
			case campaign.Queued:
				one.Queued += t.N
			}
		}
		q.Runs = append(q.Runs, one)
	}
	return nil
}
