package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/sender"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sandbox"
	"campaignd/internal/sandbox/inprocess"
	"campaignd/internal/webhooks"
)

func TestSilenceIsLoggedOnceAndItsEnd(t *testing.T) {
	var log bytes.Buffer
	accepted := int64(0)
	s := &silence{d: &Daemon{log: slog.New(slog.NewTextHandler(&log, nil))},
		stats: func() []sender.Stats { return []sender.Stats{{Accepted: accepted}, {}} }}
	began := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		minute, accepted, event int // event: the minute of the last one, -1: none came
		lines                   int // so far
	}{
		{0, 0, -1, 0}, {1, 10, -1, 0}, {10, 20, -1, 0}, {11, 30, -1, 1}, {12, 40, -1, 1}, {40, 50, -1, 1},
		{41, 60, 41, 2}, {42, 60, 41, 2}, {60, 60, 41, 2}, // nothing is accepted any more: silence is no fault
		{61, 70, 41, 2}, {70, 70, 41, 2}, {71, 70, 41, 3},
	} {
		accepted = int64(c.accepted)
		last := time.Time{}
		if c.event >= 0 {
			last = began.Add(time.Duration(c.event) * time.Minute)
		}
		s.look(began.Add(time.Duration(c.minute)*time.Minute), last)
		if n := strings.Count(log.String(), "\n"); n != c.lines {
			t.Fatalf("minute %d: %d lines in the log, want %d:\n%s", c.minute, n, c.lines, log.String())
		}
	}
}

// lastEvents is a ledger with an unfinished run 1 and a run 2 that has ended.
type lastEvents struct {
	campaign.Ledger
	at map[campaign.RunNo]time.Time
}

func (lastEvents) Runs(_ context.Context, f campaign.RunFilter) ([]campaign.Run, error) {
	runs := []campaign.Run{{No: 2, State: campaign.Finished}, {No: 1, State: campaign.Running}}
	if f.Unfinished {
		runs = runs[1:]
	}
	return runs, nil
}

func (l lastEvents) LastEventAt(_ context.Context, no campaign.RunNo) (time.Time, error) {
	return l.at[no], nil
}

// Another process takes the webhooks, and the statuses of a short run come after its end.
func TestEventsOfAnEndedRunEndTheSilence(t *testing.T) {
	began := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for newest, at := range map[campaign.RunNo]map[campaign.RunNo]time.Time{
		1: {1: began.Add(time.Second), 2: began},
		2: {1: began, 2: began.Add(time.Second)},
	} {
		s := &silence{d: &Daemon{ledger: lastEvents{at: at}}}
		if last, err := s.lastEvent(t.Context()); err != nil || !last.Equal(at[newest]) {
			t.Errorf("the newest event is of run %d: got %s, %v, want %s", newest, last, err, at[newest])
		}
	}
}

// listened is a ledger in which webhooks were taken until a time.
type listened struct {
	campaign.Ledger
	until time.Time
	err   error
	taken bool
	asked []reception.Span // replays
	to    int              // replays that were to be asked for
}

func (l *listened) NoteReplay(_ context.Context, s reception.Span, asked time.Time, _ int64) error {
	if asked.IsZero() {
		l.to++
		return nil
	}
	l.asked = append(l.asked, s)
	return nil
}

func (l *listened) Listened(context.Context, time.Time) ([]reception.Span, error) {
	if l.until.IsZero() {
		return nil, l.err
	}
	return []reception.Span{{Since: l.until.Add(-time.Hour), Until: l.until}, {Until: l.until.Add(-time.Hour)}}, l.err
}

func (l *listened) AcquireJob(context.Context, string, string, time.Duration) (campaign.JobLease, bool, error) {
	first := !l.taken
	l.taken = true
	return campaign.JobLease{}, first, nil
}

func TestAReplayFollowsAnOutageOfTheIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := sandbox.Demo()
		emulated, err := sandbox.New(o)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		cfg := config.Default()
		d := &Daemon{cfg: cfg, intake: &webhooks.Intake{}, log: slog.New(slog.NewTextHandler(&log, nil))}
		client := func(path string) *service.Client {
			c, err := service.New(service.Options{BaseURL: "http://127.0.0.1:1", APIKey: messaging.NewSecret(sandbox.DemoKey),
				Transport: inprocess.NewTransport(emulated), Assumed: service.Assumed{Paths: map[string]string{"webhook_replay": path}}})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		d.client = &connector.Set{Service: client("")}
		defer d.client.Close()
		now := time.Now()
		for name, c := range map[string]struct {
			until time.Time
			err   error
			due   bool
		}{
			"the first start":  {},
			"a short break":    {until: now.Add(-time.Minute)},
			"a long break":     {until: now.Add(-3 * time.Minute), due: true},
			"no answer at all": {until: now.Add(-time.Hour), err: errors.New("away")},
		} {
			d.ledger = &listened{until: c.until, err: c.err}
			if since, due := d.outage(t.Context(), now); due != c.due || due && !since.Equal(c.until) {
				t.Errorf("%s: got %v since %s, want %v since %s", name, due, since, c.due, c.until)
			}
		}
		l := &listened{}
		d.ledger = l
		for range 2 { // two replicas
			d.askReplay(t.Context(), now.Add(-time.Hour), outageCause)
		}
		if n := strings.Count(log.String(), "posts them again"); n != 1 {
			t.Errorf("got %d replays, want 1:\n%s", n, log.String())
		}
		if len(l.asked) != 1 || l.to != 1 || l.asked[0].Since.After(now.Add(-time.Hour)) {
			t.Errorf("the ledger knows of the replays %+v and of %d before, want one of the outage", l.asked, l.to)
		}
		d.client = &connector.Set{Service: client("GET /api/v1/connections")} // 200, without a number of deliveries
		defer d.client.Close()
		began := time.Now()
		l = &listened{}
		d.ledger = l
		log.Reset()
		d.askReplay(t.Context(), now.Add(-time.Hour), outageCause)
		if took := time.Since(began); len(l.asked) != 1 || took > 0 || !strings.Contains(log.String(), "has no field deliveries") {
			t.Errorf("an answer without a number: got the replays %+v after %v, want one that is not asked again:\n%s", l.asked, took, log.String())
		}
		d.client = &connector.Set{Service: client("/api/v1/elsewhere")}
		defer d.client.Close()
		d.ledger = &listened{}
		d.askReplay(t.Context(), now.Add(-time.Hour), outageCause)
		if !strings.Contains(log.String(), "offers no replay") {
			t.Errorf("a service without replays: got no line of that in the log:\n%s", log.String())
		}
	})
}
