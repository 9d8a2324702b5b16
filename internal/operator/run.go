package operator

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/control"
	"campaignd/campaign/file"
	"campaignd/campaign/reception"
	"campaignd/campaign/why"
	"campaignd/campaign/wording"
	"campaignd/internal/client/resource"
)

// find finds a run that the session may see. One of another company is campaign.ErrNoRun.
func (d *Session) find(ctx context.Context, id string) (campaign.Run, error) {
	if id == "latest" && d.Company != "" {
		all, err := d.visible(ctx, campaign.RunFilter{}, 1)
		if err == nil && len(all) == 0 {
			err = fmt.Errorf("%w: there is none yet", campaign.ErrNoRun)
		}
		if err != nil {
			return campaign.Run{}, err
		}
		return all[0], nil
	}
	if id != "latest" {
		if _, err := campaign.ParseRunID(id); err != nil {
			return campaign.Run{}, invalid("%v", err)
		}
	}
	r, err := control.Find(ctx, d.Ledger, id)
	if err == nil && !d.sees(ctx, r) {
		return campaign.Run{}, fmt.Errorf("%w: %s; `campaignd runs` lists them", campaign.ErrNoRun, id)
	}
	return r, err
}

// sees reports whether the run is of the company of the session, with all of its connections.
func (d *Session) sees(ctx context.Context, r campaign.Run) bool {
	if d.Company == "" {
		return true
	}
	def, err := file.ParseStored(r.ID(), r.Definition)
	return err == nil && d.ofCompany(d.Origins(ctx, nil), def.Connections)
}

// ofCompany reports whether all of the connections are the company's.
func (d *Session) ofCompany(of func(string) campaign.Origin, connections []string) bool {
	if d.Company == "" {
		return true
	}
	for _, c := range connections {
		if of(c).Company != d.Company {
			return false
		}
	}
	return len(connections) > 0
}

// visible returns the newest runs that the session may see, at most limit; 0: all.
func (d *Session) visible(ctx context.Context, f campaign.RunFilter, limit int) (out []campaign.Run, err error) {
	if d.Company == "" {
		f.Limit = limit
	}
	all, err := d.Ledger.Runs(ctx, f)
	for _, r := range all {
		if d.sees(ctx, r) && (limit == 0 || len(out) < limit) {
			out = append(out, r)
		}
	}
	return out, err
}

// Runs lists the runs, the newest first, with their holds.
func (d *Session) Runs(ctx context.Context, f campaign.RunFilter) ([]resource.Run, error) {
	all, err := d.visible(ctx, f, f.Limit)
	if err != nil {
		return nil, err
	}
	h, err := d.whyHolds(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	runs := make([]resource.Run, len(all))
	for i, r := range all {
		runs[i] = resource.RunOf(r)
		runs[i].Holds = wording.States(why.RunHolds(r, h.Holds, h.Origin, now), now)
	}
	return runs, nil
}

// Run returns one run with its holds. id is that of a run, its number, or latest.
func (d *Session) Run(ctx context.Context, id string) (resource.Run, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Run{}, err
	}
	h, err := d.whyHolds(ctx)
	if err != nil {
		return resource.Run{}, err
	}
	now, out := time.Now(), resource.RunOf(r)
	out.Holds = wording.States(why.RunHolds(r, h.Holds, h.Origin, now), now)
	return out, nil
}

// whyHolds returns the holds of the ledger, and what holds can name of each connection.
func (d *Session) whyHolds(ctx context.Context) (why.Holds, error) {
	holds, err := d.Ledger.Holds(ctx, false)
	if err != nil {
		return why.Holds{}, err
	}
	return why.Holds{Holds: holds, Origin: d.Origins(ctx, holds)}, nil
}

// controls is a request of package campaign.
type controls func(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (control.Outcome, error)

// control does what one of the verbs asks for.
func (d *Session) control(ctx context.Context, verb, id string, do controls) (resource.Controlled, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Controlled{}, err
	}
	return d.controlled(ctx, verb, r, "", do)
}

// controlled logs the verb with a detail, and does what it asks for.
func (d *Session) controlled(ctx context.Context, verb string, r campaign.Run, detail string, do controls) (resource.Controlled, error) {
	if err := d.note(ctx, verb, r.ID(), detail); err != nil {
		return resource.Controlled{}, err
	}
	c, err := do(ctx, d.Ledger, r, d.By)
	return resource.Controlled{Run: resource.RunOf(c.Run), Sentence: c.Sentence}, err
}

// Pause asks that a run sends nothing more until it is resumed.
func (d *Session) Pause(ctx context.Context, id string) (resource.Controlled, error) {
	return d.control(ctx, "pause", id, control.Pause)
}

// Resume ends a pause.
func (d *Session) Resume(ctx context.Context, id string) (resource.Controlled, error) {
	c, err := d.control(ctx, "resume", id, d.onceReplayed(control.Resume))
	if err == nil {
		d.warnOfLost(ctx, &c)
	}
	return c, err
}

// onceReplayed is do once replayed permits it.
func (d *Session) onceReplayed(do controls) controls {
	return func(ctx context.Context, l campaign.RunLedger, r campaign.Run, who string) (control.Outcome, error) {
		if err := d.replayed(ctx, r); err != nil {
			return control.Outcome{}, err
		}
		return do(ctx, l, r, who)
	}
}

// replayed returns campaign.ErrNotNow with a count while the service is posting the lost events
// again for which the run would wait: opt-outs may be among them.
func (d *Session) replayed(ctx context.Context, r campaign.Run) error {
	if r.State.Ended() {
		return nil // its own error says so
	}
	listening, err := reception.ReadListening(ctx, d.Ledger, d.Repeats, time.Now())
	if err != nil {
		return err
	}
	window := reception.ListenKept // the campaign may be of another version of this program
	if def, err := file.ParseStored(r.ID(), r.Definition); err == nil {
		window = def.Policies.DoubtWindow.Std()
	}
	if lost, found := listening.Replaying(r.CreatedAt, window); found {
		return fmt.Errorf("%w: %d of %d lost deliveries have come again, and opt-outs may be among the others: "+
			"try later, or `campaignd webhooks replay --end` if no more come", campaign.ErrNotNow, lost.Came, lost.Deliveries)
	}
	return nil
}

// warnOfLost adds a warning to the sentence of a run that a quarantine found and that goes on
// before the lost events were asked for: the opt-outs among them are not known.
func (d *Session) warnOfLost(ctx context.Context, c *resource.Controlled) {
	lost, err := d.Ledger.LostTimes(ctx)
	if err != nil || c.Run.Wanted != campaign.WantRun {
		return // what was asked for is done all the same
	}
	var since time.Time // of the earliest
	for _, t := range lost {
		if t.Asked.IsZero() && !c.Run.CreatedAt.After(t.At) && (since.IsZero() || t.Since.Before(since)) {
			since = t.Since
		}
	}
	if !since.IsZero() {
		c.Sentence += "; opt-outs that the ledger lost are not obeyed before `campaignd webhooks replay --since " +
			since.Format(time.RFC3339) + "`"
	}
}

// Cancel ends a run; what is queued is not sent.
func (d *Session) Cancel(ctx context.Context, id string) (resource.Controlled, error) {
	return d.control(ctx, "cancel", id, control.Cancel)
}

// Approve releases a run that waits for approval. The error is ErrSamePerson for the key that
// launched the run. Users of this machine may approve their own runs, because they can change the
// ledger itself; the log of actions has both names.
func (d *Session) Approve(ctx context.Context, id string) (resource.Controlled, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Controlled{}, err
	}
	if d.ByKey && r.LaunchedBy == d.By && r.State == campaign.WaitingApproval {
		return resource.Controlled{}, &fault{fmt.Sprintf("this key launched %s, and its approval needs a second person: "+
			"another key approves it, or `campaignd approve %[1]s` on the machine of the ledger", r.ID()), ErrSamePerson}
	}
	by := ""
	if r.LaunchedBy != "" {
		by = "launched by " + r.LaunchedBy
	}
	c, err := d.controlled(ctx, "approve", r, by, d.onceReplayed(control.Approve))
	if err == nil {
		d.warnOfLost(ctx, &c)
	}
	return c, err
}

// Limits returns the limits of a run as they are now, with the allowances of its plans.
func (d *Session) Limits(ctx context.Context, id string) (resource.Limits, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Limits{}, err
	}
	l, err := limitsOf(r, "")
	if err != nil || d.Allowances == nil {
		return l, err
	}
	def, err := file.ParseStored(r.ID(), r.Definition)
	if err != nil {
		return l, err
	}
	if l.Allowances, err = d.Allowances(ctx, def.Connections); err != nil {
		return l, err
	}
	for _, a := range l.Allowances {
		l.Sentence += "\n" + a.String()
	}
	return l, nil
}

// ChangeLimits changes limits of a run while it is sent.
func (d *Session) ChangeLimits(ctx context.Context, id string, c campaign.LimitChange) (resource.Limits, error) {
	if err := c.Check(); err != nil {
		return resource.Limits{}, invalid("%v", err)
	}
	if c == (campaign.LimitChange{}) {
		return resource.Limits{}, invalid("nothing to change: give class, weight, rate or deadline")
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return resource.Limits{}, err
	}
	if err := d.note(ctx, "limits", r.ID(), changeText(c)); err != nil {
		return resource.Limits{}, err
	}
	after, err := control.ChangeLimits(ctx, d.Ledger, r, c, d.By)
	if err != nil {
		return resource.Limits{}, err
	}
	return limitsOf(after.Run, after.Sentence)
}

func limitsOf(r campaign.Run, sentence string) (resource.Limits, error) {
	def, err := file.ParseStored(r.ID(), r.Definition)
	if err != nil {
		return resource.Limits{}, err
	}
	l := resource.Limits{Run: r.ID(), RunLimits: def.LimitsOf(r), Sentence: sentence}
	if sentence == "" {
		l.Sentence = fmt.Sprintf("%s: %s", l.Run, l.RunLimits)
	}
	return l, nil
}

// changeText says what is to be changed.
func changeText(c campaign.LimitChange) string {
	s := ""
	add := func(format string, v any) {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf(format, v)
	}
	if c.Class != nil {
		add("class %s", *c.Class)
	}
	if c.Weight != nil {
		add("weight %d", *c.Weight)
	}
	if c.Rate != nil {
		add("rate %g", *c.Rate)
	}
	if c.Deadline != nil {
		add("deadline %s", *c.Deadline)
	}
	return s
}
