package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
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
		own     map[string]Number
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
		{"the configured rate", []campaign.Run{defined(1, campaign.Running, "fast")}, map[string]Number{"fast": {Rate: 40}},
			200, false, 3 * time.Second, 103, "34.2 fast", "[]"},
		{"an unknown rate", []campaign.Run{defined(1, campaign.Running, "x, half"), defined(2, campaign.Running, "x")}, nil,
			200, false, time.Second, 69, "68.4 x", "[x]"},
		{"a configured rate of 0", []campaign.Run{defined(1, campaign.Running, "x")}, map[string]Number{"x": {}},
			200, false, time.Second, 69, "68.4 x", "[x]"},
		{"a service that answers an error", []campaign.Run{defined(1, campaign.Running, "fast")}, nil,
			400, false, time.Second, 69, "68.4 fast", "[fast]"},
		{"a service without a key", []campaign.Run{defined(1, campaign.Running, "fast")}, nil,
			200, true, time.Second, 69, "68.4 fast", "[fast]"},
		{"no unfinished run", []campaign.Run{defined(1, campaign.Cancelled, "fast")}, nil,
			200, false, time.Minute, 0, "0 ", "[]"},
	} {
		c := serviceOf(t, tt.status, numbers)
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
	if err := new(Quarantined).estimate(t.Context(), DefaultConfig(), []campaign.Run{broken}, time.Second, nil); err == nil {
		t.Error("a stored campaign that cannot be read: got nil, want an error")
	}
}

// heard is a ledger with the times of its events and the reports of its senders.
type heard struct {
	campaign.Ledger
	events map[campaign.RunNo]time.Time
	lanes  map[campaign.RunNo][]campaign.LaneReport
	fault  [2]error // of LastEventAt and Lanes
}

func (h *heard) LastEventAt(_ context.Context, no campaign.RunNo) (time.Time, error) {
	return h.events[no], h.fault[0]
}

func (h *heard) Lanes(_ context.Context, no campaign.RunNo) ([]campaign.LaneReport, error) {
	return h.lanes[no], h.fault[1]
}

func TestTheNewestRecordIsTheLastOfAnyKind(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1800000000+int64(s), 0) }
	for _, tt := range []struct {
		name string
		runs []campaign.Run
		h    heard
		want time.Time
	}{
		{"none", nil, heard{}, time.Time{}},
		{"a run was created", []campaign.Run{{No: 1, CreatedAt: at(1)}, {No: 2, CreatedAt: at(5)}, {No: 3, CreatedAt: at(4)}},
			heard{}, at(5)},
		{"a run was started", []campaign.Run{{No: 1, CreatedAt: at(1), StartedAt: at(6)}}, heard{}, at(6)},
		{"a run ended", []campaign.Run{{No: 1, CreatedAt: at(1), StartedAt: at(2), EndedAt: at(7)}}, heard{}, at(7)},
		{"an event came", []campaign.Run{{No: 1, EndedAt: at(7)}}, heard{events: map[campaign.RunNo]time.Time{1: at(8)}}, at(8)},
		{"a sender reported", []campaign.Run{{No: 1, EndedAt: at(7)}},
			heard{lanes: map[campaign.RunNo][]campaign.LaneReport{1: {{At: at(9)}, {At: at(3)}}}}, at(9)},
	} {
		got, err := newest(t.Context(), &tt.h, tt.runs)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%s: newest = %v and %v, want %v", tt.name, got, err, tt.want)
		}
	}
	away := errors.New("away")
	for i := range 2 {
		h := &heard{}
		h.fault[i] = away
		if _, err := newest(t.Context(), h, []campaign.Run{{No: 1}}); !errors.Is(err, away) {
			t.Errorf("fault %d: newest = %v, want %v", i, err, away)
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
