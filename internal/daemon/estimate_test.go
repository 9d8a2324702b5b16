package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/internal/numbers/numberstest"
)

// defined returns a run that sends over connections.
func defined(no campaign.RunNo, state campaign.State, connections string) campaign.Run {
	return campaign.Run{No: no, Campaign: "spring", State: state, Definition: []byte("name: spring\nconnections: [" + connections +
		"]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\n")}
}

// No segment can have been sent faster than the fastest number of an unfinished run sends.
func TestAQuarantineReachesAsFarAsTheFastestNumber(t *testing.T) {
	numbers := `{"data": [{"connectionId": "fast", "throughput": {"level": "HIGH"}}, {"connectionId": "half", "throughput": 10}]}`
	for _, tt := range []struct {
		name    string
		runs    []campaign.Run
		own     map[string]config.Number
		status  int
		noKey   bool
		lost    time.Duration
		ahead   int64
		rate    string
		assumed string
	}{
		{"the rate that the service tells", []campaign.Run{defined(1, campaign.Running, "half, fast")}, nil,
			200, false, time.Second, 903, "902.5 fast", "[]"},
		{"rounded up", []campaign.Run{defined(1, campaign.Paused, "half")}, nil,
			200, false, time.Second, 9, "8.55 half", "[]"},
		{"an ended run sent nothing", []campaign.Run{defined(1, campaign.Finished, "fast"), defined(2, campaign.Ready, "half")}, nil,
			200, false, time.Minute, 513, "8.55 half", "[]"},
		{"the configured rate", []campaign.Run{defined(1, campaign.Running, "fast")}, map[string]config.Number{"fast": {Rate: 40}},
			200, false, 3 * time.Second, 103, "34.2 fast", "[]"},
		{"an unknown rate", []campaign.Run{defined(1, campaign.Running, "x, half"), defined(2, campaign.Running, "x")}, nil,
			200, false, time.Second, 69, "68.4 x", "[x]"},
		{"a configured rate of 0", []campaign.Run{defined(1, campaign.Running, "x")}, map[string]config.Number{"x": {}},
			200, false, time.Second, 69, "68.4 x", "[x]"},
		{"a service that answers an error", []campaign.Run{defined(1, campaign.Running, "fast")}, nil,
			400, false, time.Second, 69, "68.4 fast", "[fast]"},
		{"a service without a key", []campaign.Run{defined(1, campaign.Running, "fast")}, nil,
			200, true, time.Second, 69, "68.4 fast", "[fast]"},
		{"no unfinished run", []campaign.Run{defined(1, campaign.Cancelled, "fast")}, nil,
			200, false, time.Minute, 0, "0 ", "[]"},
	} {
		c := numberstest.Service(t, tt.status, numbers)
		c.Numbers = tt.own
		if tt.noKey {
			c.Service.APIKey = messaging.Secret{}
		}
		var q Quarantined
		err := q.estimate(t.Context(), c, tt.runs, tt.lost, slog.New(slog.DiscardHandler))
		got := fmt.Sprintf("%d at %.4g %s, assumed %v", q.Ahead, q.Rate, q.Connection, q.Assumed)
		if want := fmt.Sprintf("%d at %s, assumed %s", tt.ahead, tt.rate, tt.assumed); err != nil || got != want {
			t.Errorf("%s: got %s (%v), want %s", tt.name, got, err, want)
		}
	}
	broken := defined(3, campaign.Running, "fast")
	broken.Definition = []byte("nme: x")
	if err := new(Quarantined).estimate(t.Context(), config.Default(), []campaign.Run{broken}, time.Second, nil); err == nil {
		t.Error("a stored campaign that cannot be read: got nil, want an error")
	}
}

// kept is a ledger that went back in time, with the time of its newest record.
type kept struct {
	restorable
	newest time.Time
	spans  []reception.Span
	fault  [2]error // of Newest and Listened
}

func (k *kept) Newest(context.Context) (time.Time, error) { return k.newest, k.fault[0] }

func (k *kept) Listened(context.Context, time.Time) ([]reception.Span, error) {
	return k.spans, k.fault[1]
}

func (k *kept) LostTimes(context.Context) ([]reception.LostTime, error) { return nil, nil }

// The operator may come long after the ledger went back.
func TestTheLostTimeIsNotThatOfTheOperator(t *testing.T) {
	const lost, day = 20 * time.Second, 24 * time.Hour
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	runs := []campaign.Run{{No: 4, State: campaign.Running, CreatedAt: ago(2 * time.Hour)},
		{No: 3, State: campaign.Paused, CreatedAt: ago(3 * time.Hour)}, {No: 2, State: campaign.Finished, CreatedAt: ago(5 * time.Hour)}}
	for name, tt := range map[string]struct {
		newest time.Time
		runs   []campaign.Run
		spans  []reception.Span
		want   time.Duration // ago
	}{
		"an hour ago":           {ago(time.Hour), runs, nil, time.Hour + replayBefore},
		"within --lost":         {ago(lost / 2), runs, nil, lost + replayBefore},
		"a clock that is ahead": {ago(-time.Minute), runs, nil, lost + replayBefore},
		"no record":             {time.Time{}, runs, nil, 3*time.Hour + replayBefore},
		"no run either":         {time.Time{}, nil, nil, lost + replayBefore},
		"webhooks were missed before": {ago(time.Hour), runs, []reception.Span{{Since: ago(day), Until: ago(2 * time.Hour)}},
			2*time.Hour + replayBefore},
	} {
		q := Quarantined{}
		err := q.begin(t.Context(), &kept{newest: tt.newest, spans: tt.spans}, tt.runs, lost)
		if want := ago(tt.want); err != nil || q.Since.Sub(want).Abs() > 5*time.Second || !q.Newest.Equal(tt.newest) {
			t.Errorf("%s: got %v and %v, want %v", name, q.Since, err, want)
		}
	}
	away := errors.New("away")
	for i := range 2 {
		k := &kept{}
		k.fault[i] = away
		if err := new(Quarantined).begin(t.Context(), k, nil, lost); !errors.Is(err, away) {
			t.Errorf("fault %d: got %v, want %v", i, err, away)
		}
	}
}

// tallied is a ledger with one unfinished run and its counts.
type tallied struct{ fired }

func (*tallied) Tallies(context.Context, campaign.RunNo) ([]campaign.Tally, campaign.Funnel, error) {
	return []campaign.Tally{
		{Status: campaign.InDoubt, N: 2}, {Status: campaign.InDoubt, N: 3},
		{Status: campaign.Queued, N: 4}, {Status: campaign.Queued, N: 6}, {Status: campaign.Read, N: 9},
	}, campaign.Funnel{}, nil
}

func TestAQuarantineCountsTheUnfinishedRuns(t *testing.T) {
	run := campaign.Run{No: 7, Campaign: "spring", State: campaign.Paused, Reason: campaign.PausedByLedger}
	l := &tallied{fired{runs: []campaign.Run{run}}}
	var q Quarantined
	err := q.count(t.Context(), l)
	want := "[{spring-7 paused ledger 5 10}]"
	if got := fmt.Sprint(q.Runs); err != nil || got != want || l.asked != (campaign.RunFilter{Unfinished: true}) {
		t.Errorf("count = %s and %v of the runs %+v, want %s of the unfinished ones", got, err, l.asked, want)
	}
}

// fired is a ledger with the scheduled runs of one campaign.
type fired struct {
	campaign.Ledger
	runs  []campaign.Run
	asked campaign.RunFilter // the first question for other runs
	fault error
}

func (f *fired) Runs(_ context.Context, w campaign.RunFilter) ([]campaign.Run, error) {
	if w.Unfinished && w.Campaign != "" { // the runs that hold up a firing
		return nil, f.fault
	}
	if f.asked == (campaign.RunFilter{}) {
		f.asked = w
	}
	return f.runs, f.fault
}
