package sender

import (
	"context"
	"errors"
	"testing"
	"time"

	"campaignd/campaign"
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
		got, err := p.evident(t.Context(), c.policy, []string{c.connection}, campaign.Span{Since: until.Add(-time.Hour), Until: until})
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
		l.err = errors.New("away")
		_, err = p.evident(t.Context(), c.policy, []string{"conn_1"}, campaign.Span{Until: until})
		if (err != nil) != (c.policy == campaign.UncertainEvidence) {
			t.Errorf("%s: the ledger is away: %v", name, err)
		}
	}
}
