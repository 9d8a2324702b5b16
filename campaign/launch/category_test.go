package launch_test

import (
	"context"
	"errors"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

// shelf is an account whose templates cannot be listed while err is set.
type shelf struct {
	*account
	err error
}

func (s *shelf) Templates(ctx context.Context, id string) ([]messaging.TemplateRecord, error) {
	all, err := s.account.Templates(ctx, id)
	return all, errors.Join(err, s.err)
}

// puts gives the template of a connection a category.
func (s *shelf) puts(connection, category string) {
	t := spring()
	t.Category = category
	s.templates[connection] = []messaging.TemplateRecord{t}
}

// A launch checks the template, and then reads a list for minutes. The event of a new category that
// comes meanwhile finds no run.
func TestMarketingSinceTheCheckObeysOptOuts(t *testing.T) {
	for about, c := range map[string]struct {
		becomes    string // at conn_2, during the check
		away       error  // of the service, after the check
		notOffered bool   // the service lists no templates any more
		want       bool
	}{
		"it stays":                {becomes: "UTILITY"},
		"it becomes marketing":    {becomes: "MARKETING", want: true},
		"it has no category":      {becomes: ""},
		"it is listed no longer":  {becomes: "MARKETING", notOffered: true},
		"the service is away":     {becomes: "MARKETING", away: errors.New("the service is away"), want: true},
		"the service is away too": {becomes: "UTILITY", away: errors.New("the service is away")},
	} {
		r := newRelaunch(t)
		l := r.of("list.csv", springList, "")
		s := &shelf{account: service()}
		s.puts("conn_1", "UTILITY")
		s.puts("conn_2", "UTILITY")
		l.Service = s
		l.Checked = func(p *launch.Preflight) {
			if p.Marketing {
				t.Errorf("%s: the check says marketing, want utility", about)
			}
			s.puts("conn_2", c.becomes)
			s.notOffered, s.err = c.notOffered, c.away
		}
		out, err := l.Start(t.Context())
		if !errors.Is(err, c.away) {
			t.Fatalf("%s: got %v, want %v", about, err, c.away)
		}
		if c.away != nil { // the same command goes on
			s.err, l.Checked = nil, nil
			if out, err = l.Start(t.Context()); err != nil {
				t.Fatalf("%s: got %v, want a run", about, err)
			}
		}
		run, err := r.ledger.Run(t.Context(), out.Run.No)
		if err != nil || run.State != campaign.Ready || run.Marketing != c.want {
			t.Errorf("%s: got a run that is %s, marketing %v (%v); want ready, %v", about, run.State, run.Marketing, err, c.want)
		}
	}
}

func TestAFollowUpIsMarketingWithItsParent(t *testing.T) {
	for _, marketing := range []bool{false, true} {
		l, parent := endedRun(t, "", campaign.Line{Status: campaign.Failed})
		if !marketing {
			l.Ledger = &category{l.Ledger, parent.No}
		}
		asRead := parent
		asRead.Marketing = false // it became marketing since it was read
		f, err := follow(l, asRead, "failed")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Run(t.Context(), f.Run.No); err != nil || got.Marketing != marketing {
			t.Errorf("the parent is marketing %v: got marketing %v (%v), want the same", marketing, got.Marketing, err)
		}
	}
}

// category is a ledger in which one run is not marketing.
type category struct {
	campaign.Ledger
	utility campaign.RunNo
}

func (l *category) Run(ctx context.Context, no campaign.RunNo) (campaign.Run, error) {
	run, err := l.Ledger.Run(ctx, no)
	run.Marketing = run.Marketing && no != l.utility
	return run, err
}
