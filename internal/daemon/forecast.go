package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/campaign/why"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
)

// Outlook is what forecasts start from: the unfinished runs of a ledger and their numbers.
type Outlook struct {
	plan.Situation
	// Assumed are the connections whose throughput is not known: forecasts assume the throughput of a
	// STANDARD number.
	Assumed []string `json:"assumed,omitempty"`
	// Unread are runs that this version cannot read: a forecast leaves them out.
	Unread []string `json:"unread,omitempty"`

	cfg       *config.Config
	ledger    campaign.Ledger // nil: no run is known
	directory *numbers.Directory
	quotas    *numbers.Quotas
	ramps     map[string]campaign.RampState
	holds     []campaign.Hold
	paces     map[string]string // by connection: what is kept back of its limit

	suppressions launch.KeyLedger // nil: no ledger is known
}

// newOutlook gathers what a forecast starts from at now. l may be nil: then no run is known. known
// is what a process that serves knows of its numbers and plans: it asks for them, so forecasts that
// are polled add no calls. With nil the service is asked; it is no error if it does not answer.
func newOutlook(ctx context.Context, l campaign.Ledger, cfg *config.Config, known *numbers.Quotas, now time.Time) (*Outlook, error) {
	if known == nil || !known.Directory.Ready() {
		known = numbers.AskQuotas(ctx, cfg, l)
	}
	o := &Outlook{cfg: cfg, ledger: l, directory: known.Directory, quotas: known, paces: map[string]string{}}
	o.Now = now
	o.Past = defaultPast()
	if l == nil {
		return o, nil
	}
	o.suppressions = l
	var err error
	if o.ramps, err = l.Ramps(ctx); err != nil {
		return nil, fmt.Errorf("read the ramps: %w", err)
	}
	if o.holds, err = l.Holds(ctx, false); err != nil {
		return nil, fmt.Errorf("read the holds: %w", err)
	}
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	slices.Reverse(runs) // the oldest first
	for _, run := range runs {
		if err := o.addStored(ctx, l, run); err != nil {
			return nil, err
		}
	}
	return o, o.remember(ctx, l)
}

// defaultPast is what is expected where nothing was observed: a finish within some per cent.
func defaultPast() plan.Past { return plan.Past{Drift: 0.03} }

// addStored adds a run of the ledger, unless its operator paused it, its list is not imported, or
// this version cannot read it: such a run sends nothing.
func (o *Outlook) addStored(ctx context.Context, l campaign.Ledger, run campaign.Run) error {
	if !run.State.Sends() || run.Wanted != campaign.WantRun {
		return nil
	}
	if _, err := file.ParseStored(run.ID(), run.Definition); err != nil {
		o.Unread = append(o.Unread, run.ID())
		return nil //nolint:nilerr // it is named, and the others are forecast
	}
	_, err := o.addRun(ctx, l, run)
	return err
}

// addRun adds a run of the ledger as if it went on now, and returns its index. A run that is there
// already is not added again.
func (o *Outlook) addRun(ctx context.Context, l campaign.Ledger, run campaign.Run) (int, error) {
	if i := slices.IndexFunc(o.Runs, func(r plan.Run) bool { return r.ID == run.ID() }); i >= 0 {
		return i, nil
	}
	def, err := file.ParseStored(run.ID(), run.Definition)
	if err != nil {
		return 0, err
	}
	segments, err := l.SegmentStates(ctx, run.No)
	if err != nil {
		return 0, fmt.Errorf("read the segments of %s: %w", run.ID(), err)
	}
	r, err := plan.RunOf(run, def, segments)
	if err != nil {
		return 0, err
	}
	if err := returned(ctx, l, def, run, &r); err != nil {
		return 0, err
	}
	if left, err := l.JobLeft(ctx, launch.CanaryJob(run.No)); err != nil {
		return 0, err
	} else if left > 0 {
		r.Released = o.Now.Add(left)
	}
	o.hold(&r, run)
	return o.add(ctx, r)
}

// returned adds the rows below the marks that are queued again: a hold sent them back, or they are
// tried once more.
func returned(ctx context.Context, l campaign.Ledger, def *file.Definition, run campaign.Run, r *plan.Run) error {
	tallies, _, err := l.Tallies(ctx, run.No)
	if err != nil {
		return fmt.Errorf("count %s: %w", run.ID(), err)
	}
	var again int64
	for _, t := range tallies {
		if t.Status == campaign.Queued {
			again += t.N
		}
	}
	for _, g := range r.Groups {
		again -= g.Remaining
	}
	if again <= 0 {
		return nil
	}
	zones, err := plan.ZonesOf(def, "")
	if err != nil {
		return err
	}
	r.Done = max(r.Done-again, 0)
	r.Groups = append([]plan.Group{{Remaining: again, Zones: zones}}, r.Groups...)
	return nil
}

// hold notes until when the run is held on every connection.
func (o *Outlook) hold(r *plan.Run, run campaign.Run) {
	if h, held := why.Held(run, o.holds, o.directory.Origin, o.Now); held {
		r.From, r.Waits = o.ends(h), campaign.ByHold
	}
}

// ends is when a hold ends: one without an end lasts longer than any forecast.
func (o *Outlook) ends(h campaign.Hold) time.Time {
	if h.Until.IsZero() {
		return o.Now.AddDate(10, 0, 0)
	}
	return h.Until
}

// add adds a run, and the numbers that it names, and returns its index.
func (o *Outlook) add(ctx context.Context, r plan.Run) (int, error) {
	for _, id := range r.Numbers {
		if slices.ContainsFunc(o.Numbers, func(n plan.Number) bool { return n.ID == id }) {
			continue
		}
		n := plan.Number{ID: id, Pace: o.pace(ctx, id), Quality: o.directory.QualityOf(id)}
		if n.Pace <= 0 {
			n.Pace = o.directory.AssumedPace(id)
			o.Assumed = append(o.Assumed, id)
		}
		origin := o.directory.Origin(id)
		if h, held := campaign.HeldBy(o.holds, origin, o.Now); held {
			n.Held = o.ends(h)
		}
		if err := o.addTier(ctx, &n); err != nil {
			return 0, err
		}
		if err := o.addQuotas(ctx, &n, origin.Company); err != nil {
			return 0, err
		}
		o.Numbers = append(o.Numbers, n)
	}
	o.Runs = append(o.Runs, r)
	return len(o.Runs) - 1, nil
}

// addTier adds the tier of a number's portfolio, with the places that are taken.
func (o *Outlook) addTier(ctx context.Context, n *plan.Number) error {
	tier := o.directory.Tier(n.ID)
	if tier.Places == 0 {
		return nil
	}
	n.Tier = tier.Portfolio
	if slices.ContainsFunc(o.Tiers, func(t plan.Tier) bool { return t.Name == n.Tier }) {
		return nil
	}
	own := plan.Tier{Name: n.Tier, Limit: tier.Places}
	if o.ledger != nil {
		var err error
		if own.Reached, err = o.ledger.Reached(ctx, n.Tier, o.Now.Add(-campaign.ReachFor)); err != nil {
			return fmt.Errorf("read whom %s has reached: %w", n.Tier, err)
		}
	}
	o.Tiers = append(o.Tiers, own)
	return nil
}

// addQuotas adds the allowance and the warm-up of a number, with what is used of them.
func (o *Outlook) addQuotas(ctx context.Context, n *plan.Number, company string) error {
	own := plan.Quota{Name: numbers.PlanKey + company}
	known := slices.ContainsFunc(o.Allowances, func(q plan.Quota) bool { return q.Name == own.Name })
	if !known {
		var err error
		if own, known, err = o.quotas.PlanOf(ctx, company, o.Now); err != nil {
			return err
		}
		if known {
			o.Allowances = append(o.Allowances, own)
		}
	}
	if known {
		n.Allowance = own.Name
	}
	if r := o.cfg.Numbers[n.ID].Ramp; r != nil {
		ramp := r.Plan()
		used, err := o.quotas.Ramped(ctx, n.ID, o.Now)
		if err != nil {
			return err
		}
		n.Ramp, n.RampState, n.Ramped = &ramp, r.Today(o.ramps[n.ID], o.Now, n.Quality), used
	}
	return nil
}

// remembered is how many ended runs a forecast looks back at.
const remembered = 10

// remember reads from the runs that ended last how much the service refused.
func (o *Outlook) remember(ctx context.Context, l campaign.Ledger) error {
	runs, err := l.Runs(ctx, campaign.RunFilter{Limit: 3 * remembered})
	if err != nil {
		return fmt.Errorf("read the ended runs: %w", err)
	}
	var refused []float64
	for _, run := range runs {
		if run.State != campaign.Finished || len(refused) == remembered {
			continue
		}
		tallies, funnel, err := l.Tallies(ctx, run.No)
		if err != nil {
			return fmt.Errorf("count %s: %w", run.ID(), err)
		}
		var n int64
		for _, t := range tallies {
			if t.Status == campaign.Refused {
				n += t.N
			}
		}
		if posted := n + funnel.Accepted; posted >= 100 {
			refused = append(refused, float64(n)/float64(posted))
		}
	}
	o.Past.Refused = plan.AverageOf(refused)
	return nil
}
