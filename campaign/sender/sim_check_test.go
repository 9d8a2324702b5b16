package sender_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/sandbox"
	"campaignd/reporting"
)

// check compares the ledger with the truth, once everything has come to rest.
func (w *world) check(ctx context.Context, t *testing.T) {
	if _, err := w.desk.Sweep(ctx, time.Now()); err != nil {
		t.Error(err)
		return
	}
	w.fold(ctx) // what the last calls changed
	truth := map[sent][]sandbox.Message{}
	for m := range w.service.Messages() {
		k := sent{m.To, m.Template}
		truth[k] = append(truth[k], m)
	}
	listed := map[string]int{}
	for _, r := range w.load.runs {
		for _, to := range r.phones {
			listed[to]++
		}
	}
	for _, n := range listed {
		if n > 1 {
			w.count("one phone in two runs")
		}
	}
	if len(w.load.runs) > 1 {
		w.count("two runs")
	}
	for _, r := range w.load.runs {
		w.checkRun(ctx, t, r, truth, listed)
	}
	for k := range truth {
		w.bad("the service accepted %s to %s, who is not on its list", k.template, k.to)
	}
	w.checkPace()
	w.checkOptOuts()
}

// summarize keeps summaries all the time, in another process. They must be right whatever
// dies.
func (w *world) summarize(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(701 * time.Millisecond):
			w.fold(ctx)
		}
	}
}

// fold keeps the summaries of all segments that have changed.
func (w *world) fold(ctx context.Context) {
	n, err := w.desk.FoldSummaries(ctx, 0, math.MaxInt32)
	if err != nil && ctx.Err() == nil {
		w.bad("summaries: %v", err)
	}
	if n > 0 {
		w.count("summaries kept")
	}
}

// checkRun holds one run against the truth and takes its messages out of it.
func (w *world) checkRun(ctx context.Context, t *testing.T, r *campaignRun, truth map[sent][]sandbox.Message, listed map[string]int) {
	run, err := w.desk.Run(ctx, r.no)
	if err != nil {
		t.Error(err)
		return
	}
	if _, wrong, err := ledgertest.Differs(ctx, w.desk, r.no); err != nil || wrong != "" {
		w.bad("summary of %s: %v (-lines +summary)\n%s", r.name, err, wrong)
	}
	_, funnel, err := w.desk.Tallies(ctx, r.no)
	if err != nil {
		t.Error(err)
		return
	}
	var reached, doubled, ambiguous int64
	for line, err := range w.desk.Lines(ctx, r.no) {
		if err != nil {
			t.Error(err)
			return
		}
		k := sent{line.To, r.template}
		got := truth[k]
		delete(truth, k)
		if len(got) > 0 {
			reached++
		}
		if len(got) > 1 {
			doubled++
			if r.policy != campaign.UncertainResend {
				w.bad("%s row %d got the message %d times", r.name, line.Row, len(got))
				continue
			}
		}
		if line.Adopted {
			w.count("adopted")
		}
		w.checkLine(r, line, got, listed[line.To] > 1, &ambiguous)
	}
	if doubled > funnel.MaybeDuplicate {
		w.bad("%s: %d recipients got the message more than once, %d are flagged", r.name, doubled, funnel.MaybeDuplicate)
	}
	if r.policy != campaign.UncertainResend && funnel.MaybeDuplicate > 0 {
		w.bad("%s: %d recipients are flagged as maybe sent twice, and its policy sends nobody twice", r.name, funnel.MaybeDuplicate)
	}
	if funnel.MaybeDuplicate > 0 {
		w.count("resent after doubt")
	}
	if ambiguous > funnel.Ambiguous {
		w.bad("%s: %d unknown recipients were told of by the service, %d are flagged as ambiguous", r.name, ambiguous, funnel.Ambiguous)
	}
	if most := r.limits.MaxMessages; most > 0 && reached > most {
		w.bad("%s reached %d recipients, max_messages is %d", r.name, reached, most)
	}
	if r.limits.Rate > 0 {
		w.count("rate of its own")
		// A run may be uneven by a second of its rate; a new process starts without a burst.
		if worst := worstSecond(w.seen.posts[r.template]); float64(worst) > math.Ceil(r.limits.Rate*2)+2 {
			w.bad("%s posted %d in one second, its rate is %g", r.name, worst, r.limits.Rate)
		}
	}
	if r.closes > 0 && r.closes > w.load.begins {
		w.count("window closed in the middle")
	}
	w.count(string(run.State))
	if cancelled := run.State == campaign.Cancelled; cancelled && !r.cancelled {
		w.bad("%s is cancelled, and nobody wanted that", r.name)
	}
	audit, err := reporting.Audit(ctx, w.desk, run)
	switch {
	case err != nil:
		t.Error(err)
	case !audit.Balanced:
		w.bad("audit of %s: %+v", r.name, audit.Problems)
	}
}

// checkLine holds one row against the messages that the service accepted for it.
func (w *world) checkLine(r *campaignRun, line campaign.Line, got []sandbox.Message, shared bool, ambiguous *int64) {
	switch line.Status {
	case campaign.Queued, campaign.Sending, campaign.InDoubt:
		w.bad("%s row %d is still %s", r.name, line.Row, line.Status)
		return
	case campaign.Skipped:
		w.count("skipped: " + line.Reason)
		fallthrough
	case campaign.Refused:
		if line.Status == campaign.Refused {
			w.policy.refused(w, r, line.Row, sent{line.To, r.template})
		}
		if len(got) > 0 {
			w.bad("%s row %d is %s (%s%s), and the service accepted it", r.name, line.Row, line.Status, line.Reason, line.Code)
		}
		return
	case campaign.Unknown:
		w.count("ended unknown")
		if told := slices.ContainsFunc(got, func(m sandbox.Message) bool { return emitted(m) > 0 }); !told {
			return
		}
		if *ambiguous++; !shared && len(got) < 2 {
			w.bad("%s row %d is unknown, and the service accepted it and said so", r.name, line.Row)
		}
		return
	}
	if len(got) == 0 {
		w.bad("%s row %d (%s) is %s, and the service never accepted it: id %s, in doubt for %q", r.name, line.Row, line.To, line.Status,
			line.MessageID, line.Reason)
		return
	}
	i := slices.IndexFunc(got, func(m sandbox.Message) bool { return m.ID == line.MessageID })
	if i < 0 {
		w.bad("%s row %d has the id %s, the service's is %s", r.name, line.Row, line.MessageID, got[0].ID)
		return
	}
	if want := shown(got[i]); line.Status != want {
		w.bad("%s row %d is %s, the service's statuses make it %s: %+v", r.name, line.Row, line.Status, want, got[i].Statuses)
	}
	has := map[string]time.Time{"sent": line.SentAt, "delivered": line.DeliveredAt, "read": line.ReadAt, "failed": line.FailedAt}
	for _, s := range got[i].Statuses {
		at := has[s.Name]
		delete(has, s.Name)
		switch {
		case !s.AckedAt.IsZero() && !at.Equal(s.At.Truncate(time.Millisecond)):
			w.bad("%s row %d: the service told of %s at %v and was answered 2xx, the ledger has %v", r.name, line.Row, s.Name, s.At, at)
		case !at.IsZero() && s.Posts == 0:
			w.bad("%s row %d is %s, and the service never told of it", r.name, line.Row, s.Name)
		}
	}
	for name, at := range has {
		if !at.IsZero() {
			w.bad("%s row %d is %s, and that never happened", r.name, line.Row, name)
		}
	}
}

// checkPace is promise 2: no number saw more in any second than its limit, although the pace is as
// near to it as a daemon goes.
func (w *world) checkPace() {
	truth := w.service.Stats()
	for _, c := range truth.Connections {
		if c.WorstSecond > c.Limit {
			w.bad("%s saw %d POSTs in one second, its limit is %d", c.Connection, c.WorstSecond, c.Limit)
		}
		pace := w.load.pace(c.Connection)
		if w.load.late > 0 { // a late wake-up uses the slots that are not older than that
			pace *= 1 + lateness.Seconds()
		}
		if most := int(math.Ceil(pace)) + 2; c.WorstSecond > most {
			w.bad("%s saw %d POSTs in one second at a pace of %.4g", c.Connection, c.WorstSecond, w.load.pace(c.Connection))
		}
	}
	if n := truth.Fired["throughput_exceeded"]; n > 0 {
		w.bad("the service refused %d POSTs because a number sent too fast", n)
	}
}

// checkOptOuts is promise 4: nobody is sent marketing whose STOP was answered 2xx before the
// transaction of the intent began.
func (w *world) checkOptOuts() {
	for _, o := range w.service.Stats().OptOuts {
		if o.AckedAt.IsZero() {
			continue
		}
		for _, r := range w.load.runs {
			if !r.marketing() {
				continue
			}
			for _, began := range w.seen.granted[sent{o.Phone, r.template}] {
				if began.After(o.AckedAt) {
					w.bad("%s opted out at %v, and an intent of %s was granted %v later", o.Phone, o.AckedAt.Sub(w.started), r.name, began.Sub(o.AckedAt))
				}
			}
		}
	}
}

// worstSecond is the most instants in any sliding second.
func worstSecond(at []time.Time) (worst int) {
	slices.SortFunc(at, time.Time.Compare)
	from := 0
	for i := range at {
		for at[i].Sub(at[from]) >= time.Second {
			from++
		}
		worst = max(worst, i-from+1)
	}
	return worst
}

// emitted is how many statuses of a message were delivered to us.
func emitted(m sandbox.Message) (n int) {
	for _, s := range m.Statuses {
		if !s.AckedAt.IsZero() {
			n++
		}
	}
	return n
}

// shown is the status that the service's emitted statuses add up to.
func shown(m sandbox.Message) campaign.Status {
	has := map[string]bool{}
	for _, s := range m.Statuses {
		if !s.AckedAt.IsZero() {
			has[s.Name] = true
		}
	}
	for _, s := range []campaign.Status{campaign.Read, campaign.Delivered, campaign.Failed, campaign.Sent} {
		if has[string(s)] {
			return s
		}
	}
	return campaign.Accepted
}
