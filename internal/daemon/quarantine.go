package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// restorable is a ledger that can go back in time; both backends are.
type restorable interface {
	campaign.Ledger
	// Restored answers ledger.ErrRestored with its reason until the ledger is quarantined, and nil when it did not go back.
	Restored(ctx context.Context) error
	// Quarantine puts in doubt what may have been posted: up to ahead deliveries of each unfinished segment, from since on.
	Quarantine(ctx context.Context, ahead int64, since time.Time) (int64, error)
	// Rehearse is Quarantine without doing it.
	Rehearse(ctx context.Context, ahead int64, since time.Time) (int64, error)
}

var (
	_ restorable = (*sqlite.Ledger)(nil)
	_ restorable = (*postgres.Ledger)(nil)
)

// QuarantineOptions describe `campaignd ledger quarantine`.
type QuarantineOptions struct {
	Lost   time.Duration // how long sending may have gone on after the ledger's newest record; 0: not at all
	Ahead  int64         // deliveries of each segment that may have been posted meanwhile; below 0: highest rate x Lost
	Force  bool          // also when the ledger did not go back in time, as far as it can tell
	DryRun bool          // count, and change nothing
	Log    *slog.Logger
}

// Quarantined is what a quarantine found and did.
type Quarantined struct {
	Ledger     string           `json:"ledger"`
	WentBack   bool             `json:"went_back"`
	Done       bool             `json:"done"`                    // false when it did not go back in time, and of a dry run
	DryRun     bool             `json:"dry_run,omitempty"`       // what follows would be
	Newest     time.Time        `json:"newest_record,omitzero"`  // the last thing that the ledger knows of
	Since      time.Time        `json:"since,omitzero"`          // from when on deliveries may have been posted: webhooks are wanted from here
	Rate       float64          `json:"rate,omitempty"`          // messages per second: the highest of the connections of unfinished runs
	Connection string           `json:"connection,omitempty"`    // whose rate it is
	Assumed    []string         `json:"rates_assumed,omitempty"` // connections whose rate neither the configuration nor the service told
	Ahead      int64            `json:"ahead"`                   // deliveries of each unfinished segment
	Doubts     int64            `json:"put_in_doubt"`
	Runs       []QuarantinedRun `json:"runs"`              // that have not ended, newest first
	Firings    []LostFiring     `json:"firings,omitempty"` // of the campaigns folder
}

// LostFiring is a scheduled launch that the ledger does not know of and that would be made now.
type LostFiring struct {
	Campaign string    `json:"campaign"`
	At       time.Time `json:"at"`
	Run      string    `json:"run,omitempty"` // the cancelled run that stands for it; none in a dry run
}

// QuarantinedRun is an unfinished run after the quarantine.
type QuarantinedRun struct {
	Run     string               `json:"run"`
	State   campaign.State       `json:"state"`
	Reason  campaign.PauseReason `json:"reason,omitempty"`
	InDoubt int64                `json:"in_doubt"`
	Queued  int64                `json:"queued"`
}

// Quarantine opens a ledger that went back in time, puts in doubt what may have been posted in the lost time,
// and pauses its runs (reliability.md 2.3). It holds the sender's lock of an SQLite ledger: campaign.ErrLocked beside
// a running sender. The service is asked for the rates that the configuration does not tell, if it can be.
func Quarantine(ctx context.Context, cfg *Config, o QuarantineOptions) (q Quarantined, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	opened, err := ledger.Open(ctx, cfg.Ledger, ledger.Options{Sender: true, AcceptRestored: true, Log: o.Log}, sqlite.Open, postgres.Open)
	if err != nil {
		return q, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	l, ok := opened.(restorable)
	if !ok {
		return q, fmt.Errorf("ledger %s cannot be quarantined", cfg.Masked().Ledger)
	}
	q = Quarantined{Ledger: cfg.Masked().Ledger, DryRun: o.DryRun, Runs: []QuarantinedRun{}}
	switch err := l.Restored(ctx); {
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
	if q.Newest, err = newest(ctx, l, runs); err != nil {
		return q, err
	}
	q.Since = time.Now().Add(-o.Lost).UTC().Truncate(time.Millisecond)
	if !q.Newest.IsZero() && q.Newest.Before(q.Since) {
		q.Since = q.Newest // the lost time begins where the ledger ends, however long ago that is
	}
	if q.Ahead = o.Ahead; q.Ahead < 0 {
		if err := q.estimate(ctx, cfg, runs, o.Lost, o.Log); err != nil {
			return q, err
		}
	}
	if o.Lost > 0 {
		if err := q.closeFirings(ctx, cfg, l, runs, o.Log); err != nil {
			return q, err
		}
	}
	if o.DryRun {
		q.Doubts, err = l.Rehearse(ctx, q.Ahead, q.Since)
	} else {
		q.Doubts, err = l.Quarantine(ctx, q.Ahead, q.Since)
	}
	if err != nil {
		return q, err
	}
	q.Done = !o.DryRun
	return q, q.count(ctx, l)
}

// newest is when the ledger last heard of anything. Senders say every two seconds that they are there.
func newest(ctx context.Context, l campaign.ReportLedger, runs []campaign.Run) (last time.Time, err error) {
	later := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	for _, r := range runs {
		later(r.CreatedAt)
		later(r.StartedAt)
		later(r.EndedAt)
		at, err := l.LastEventAt(ctx, r.No)
		if err != nil {
			return last, fmt.Errorf("read the last event of %s: %w", r.ID(), err)
		}
		later(at)
		lanes, err := l.Lanes(ctx, r.No)
		if err != nil {
			return last, fmt.Errorf("read the lanes of %s: %w", r.ID(), err)
		}
		for _, lane := range lanes {
			later(lane.At)
		}
	}
	return last, nil
}

// lostList is the list of a run that stands for a firing of the lost time.
const lostList = "(the firing of the lost time)"

// closeFirings keeps the schedule from launching again what it may have launched in the lost time: a cancelled run
// without rows stands for each firing that would be made now. It comes before the quarantine: a death in between repeats it.
func (q *Quarantined) closeFirings(ctx context.Context, cfg *Config, l campaign.Ledger, runs []campaign.Run, log *slog.Logger) error {
	all, err := ReadSchedule(cfg.Campaigns)
	if err != nil { // what is faulty launches nothing; mended, it is written anew and owes no earlier firing
		log.Warn("a campaign file is not used", "err", err)
	}
	d := &Daemon{cfg: cfg, ledger: l}
	for _, s := range all {
		firing, due, err := d.due(ctx, s, time.Now())
		if err != nil {
			return err
		}
		known := slices.IndexFunc(runs, func(r campaign.Run) bool { return r.Campaign == s.Definition.Name && r.Launch == cronKey+firing.Key })
		if !due || known >= 0 && runs[known].ListName != lostList { // known: its import was interrupted
			continue
		}
		lost := LostFiring{Campaign: s.Definition.Name, At: firing.At.UTC()}
		if !q.DryRun {
			var run campaign.Run
			if known >= 0 { // an earlier quarantine died before it cancelled its stand-in
				run = runs[known]
			} else if run, err = l.CreateRun(ctx, campaign.Run{Campaign: lost.Campaign, Launch: cronKey + firing.Key, ListName: lostList,
				Template: s.Definition.Template.Name, Language: s.Definition.Template.Language}); err != nil {
				return fmt.Errorf("close the firing of %s: %w", lost.Campaign, err)
			}
			if _, err := l.SetState(ctx, run.No, []campaign.State{campaign.Importing}, campaign.Cancelled, "", "it may have been launched in the time that the ledger lost"); err != nil {
				return fmt.Errorf("close the firing of %s: %w", lost.Campaign, err)
			}
			lost.Run = run.ID()
		}
		q.Firings = append(q.Firings, lost)
	}
	return nil
}

// askRates is how long the service is asked for its numbers; what it does not tell is assumed.
const askRates = 10 * time.Second

// estimate computes Ahead: no segment can have been sent faster than the fastest number sends.
func (q *Quarantined) estimate(ctx context.Context, cfg *Config, runs []campaign.Run, lost time.Duration, log *slog.Logger) error {
	var connections, untold []string
	for _, r := range runs {
		if r.State.Ended() {
			continue
		}
		d, err := campaign.ParseDefinition(r.ID(), r.Definition)
		if err != nil {
			return fmt.Errorf("the stored campaign of %s: %w; give --ahead", r.ID(), err)
		}
		connections = append(connections, d.Connections...)
	}
	slices.Sort(connections)
	connections = slices.Compact(connections)
	for _, c := range connections {
		if cfg.Numbers[c].Rate <= 0 {
			untold = append(untold, c)
		}
	}
	n := newNumbers(cfg)
	if len(untold) > 0 && !cfg.Service.APIKey.IsZero() {
		client, err := NewClient(cfg)
		if err != nil {
			return err
		}
		asking, stop := context.WithTimeout(ctx, askRates)
		defer stop()
		if _, err := n.refresh(asking, client); err != nil {
			log.Warn("the service does not tell its numbers' rates", "err", err)
		}
	}
	for _, c := range connections {
		if rate := n.pace(c); rate > q.Rate {
			q.Rate, q.Connection = rate, c
		}
	}
	for _, c := range untold {
		if !n.told(c) {
			q.Assumed = append(q.Assumed, c)
		}
	}
	q.Ahead = int64(math.Ceil(q.Rate * lost.Seconds()))
	return nil
}

// count reads what stands now.
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
		one := QuarantinedRun{Run: r.ID(), State: r.State, Reason: r.Reason}
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
