package sender

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
)

// hearingLedger has a status of a message over conn_1 that was accepted at a time.
type hearingLedger struct {
	parkLedger
	heard time.Time
	err   error
}

func (l *hearingLedger) Heard(_ context.Context, connection string, since time.Time) (bool, error) {
	return connection == "conn_1" && !l.heard.Before(since), l.err
}

// The policy evidence sends again only after a webhook of a message that was certainly posted later
// than each of the doubts, over the same connection. Other policies ask for none.
func TestEvidenceIsAWebhookOfALaterMessage(t *testing.T) {
	until := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		policy     campaign.OnUncertain
		connection string
		heard      time.Time
		want       campaign.OnUncertain
	}{
		"a later message":         {campaign.UncertainEvidence, "conn_1", until.Add(evidenceMargin), campaign.UncertainResend},
		"one of the same moment":  {campaign.UncertainEvidence, "conn_1", until.Add(evidenceMargin - 1), campaign.UncertainHold},
		"none":                    {campaign.UncertainEvidence, "conn_1", time.Time{}, campaign.UncertainHold},
		"of another connection":   {campaign.UncertainEvidence, "conn_2", until.Add(time.Hour), campaign.UncertainHold},
		"of no connection":        {campaign.UncertainEvidence, "", until.Add(time.Hour), campaign.UncertainHold},
		"hold, a later message":   {campaign.UncertainHold, "conn_1", until.Add(time.Hour), campaign.UncertainHold},
		"resend, without a later": {campaign.UncertainResend, "conn_1", time.Time{}, campaign.UncertainResend},
	} {
		l := &hearingLedger{heard: c.heard}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		p := newWorker(e, "conn_1").planner.claimer
		got, err := p.evident(t.Context(), c.policy, []string{c.connection}, reception.Span{Since: until.Add(-time.Hour), Until: until})
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
		l.err = errors.New("away")
		_, err = p.evident(t.Context(), c.policy, []string{"conn_1"}, reception.Span{Until: until})
		if (err != nil) != (c.policy == campaign.UncertainEvidence) {
			t.Errorf("%s: the ledger is away: %v", name, err)
		}
	}
}

// resolvingLedger notes what becomes of doubts.
type resolvingLedger struct {
	parkLedger
	lost     []reception.LostTime
	resolved []resolution
}

type resolution struct {
	began  reception.Span
	policy campaign.OnUncertain
}

func (l *resolvingLedger) LostTimes(context.Context) ([]reception.LostTime, error) {
	return l.lost, nil
}

func (l *resolvingLedger) Resolve(_ context.Context, _ campaign.Lease, began reception.Span, p campaign.OnUncertain) (int, error) {
	l.resolved = append(l.resolved, resolution{began, p})
	return 0, nil
}

// A policy that sends again does not do so with what the events of a lost time may prove.
func TestNoPolicySendsAgainBeforeTheReplay(t *testing.T) {
	now := time.Now()
	over := now.Add(-time.Minute)
	at := now.Add(-time.Hour).Truncate(time.Millisecond)
	cut := at.Add(time.Millisecond)
	for name, c := range map[string]struct {
		lost []reception.LostTime
		want []resolution
	}{
		"nothing was lost": {nil, []resolution{{reception.Span{Until: over}, campaign.UncertainResend}}},
		"not replayed": {[]reception.LostTime{{At: at, Since: at.Add(-time.Hour)}}, []resolution{
			{reception.Span{Until: cut}, campaign.UncertainHold}, {reception.Span{Since: cut, Until: over}, campaign.UncertainResend}}},
		"replayed": {[]reception.LostTime{{At: at, Since: at.Add(-time.Hour), Asked: at.Add(time.Second)}},
			[]resolution{{reception.Span{Until: over}, campaign.UncertainResend}}},
		"replayed a moment ago, and lost just before": {[]reception.LostTime{{At: now, Since: at, Asked: now}},
			[]resolution{{reception.Span{Until: over}, campaign.UncertainHold}}},
	} {
		l := &resolvingLedger{lost: c.lost}
		e, err := New(l, nil, nil, Options{Owner: "a"})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{policy: campaign.UncertainResend, doubtWindow: time.Minute}
		if err := newWorker(e, "conn_1").planner.claimer.resolve(t.Context(), r, campaign.Lease{}, now); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l.resolved, c.want) {
			t.Errorf("%s: got %v, want %v", name, l.resolved, c.want)
		}
	}
}

// By a clock that may be wrong no window of a doubt is over, so nobody is sent to again.
func TestNoWrongClockEndsADoubt(t *testing.T) {
	for known, want := range map[bool]int{true: 1, false: 0} {
		l := &resolvingLedger{}
		e, err := New(l, nil, nil, Options{Owner: "a", Expiry: func() (time.Time, bool) { return time.Now(), known }})
		if err != nil {
			t.Fatalf("got %v, want no error", err)
		}
		r := &run{policy: campaign.UncertainResend, doubtWindow: time.Minute}
		if err := newWorker(e, "conn_1").planner.claimer.resolve(t.Context(), r, campaign.Lease{}, time.Now()); err != nil {
			t.Fatalf("resolve: got %v, want no error", err)
		}
		if len(l.resolved) != want {
			t.Errorf("the time is known: %v: got %v, want %d", known, l.resolved, want)
		}
	}
}
