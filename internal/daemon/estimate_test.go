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
		err := q.estimate(t.Context(), c, happened{}, tt.runs, tt.lost, slog.New(slog.DiscardHandler))
		got := fmt.Sprintf("%d at %.4g %s, assumed %v", q.Ahead, q.Rate, q.Connection, q.Assumed)
		if want := fmt.Sprintf("%d at %s, assumed %s", tt.ahead, tt.rate, tt.assumed); err != nil || got != want {
			t.Errorf("%s: got %s (%v), want %s", tt.name, got, err, want)
		}
	}
	broken := defined(3, campaign.Running, "fast")
	broken.Definition = []byte("nme: x")
	if err := new(Quarantined).estimate(t.Context(), config.Default(), nil, []campaign.Run{broken}, time.Second, nil); err == nil {
		t.Error("a stored campaign that cannot be read: got nil, want an error")
	}
}

// happened is what the history of each run says of its limits: the time, and the change in JSON.
type happened map[campaign.RunNo][][2]string

func (h happened) History(_ context.Context, no campaign.RunNo) (all campaign.History, err error) {
	if no == 9 {
		return all, errFault
	}
	all.Entries = append(all.Entries, campaign.HistoryEntry{Kind: campaign.HistoryState, Value: "running"})
	for _, c := range h[no] {
		at, err := time.Parse(time.TimeOnly, c[0])
		if err != nil {
			return all, err
		}
		all.Entries = append(all.Entries, campaign.HistoryEntry{At: at, Kind: campaign.HistoryLimits, Value: c[1]})
	}
	return all, nil
}

// The run's own rate counts as it was in the lost time, which begins at noon: an operator may have
// changed it after the ledger went back. conn_1 sends 34.2 a second, and 10 s were lost.
func TestAQuarantineReachesAsFarAsTheRunsOwnRate(t *testing.T) {
	noon, err := time.Parse(time.TimeOnly, "12:00:00")
	if err != nil {
		t.Fatal(err)
	}
	c := numberstest.Service(t, 200, `{"data": [{"connectionId": "slow", "throughput": 2}]}`)
	c.Numbers = map[string]config.Number{"conn_1": {Rate: 40}}
	for _, tt := range []struct {
		name, connections, launched string
		now                         float64 // what the operator changed it to; 0: nothing; below: no limit
		history                     [][2]string
		want                        string
	}{
		{"none", "conn_1", "", 0, nil, "342 of 342, own 0"},
		{"of its file", "conn_1", "3", 0, nil, "34 of 342, own 3"},
		{"a fraction", "conn_1", "0.01", 0, nil, "2 of 342, own 0.01"},
		{"above the number's", "conn_1", "100", 0, nil, "342 of 342, own 0"},
		{"as high as its number's", "slow", "2", 0, nil, "18 of 18, own 0"},
		{"lowered before", "conn_1", "5", 2, [][2]string{{"11:00:00", `{"rate":2}`}}, "23 of 342, own 2"},
		{"lowered since", "conn_1", "5", 2, [][2]string{{"12:00:01", `{"rate":2}`}}, "56 of 342, own 5"},
		{"raised and lowered since", "conn_1", "3", 2, [][2]string{{"12:00:01", `{"rate":9}`}, {"12:00:02", `{"rate":2}`}}, "100 of 342, own 9"},
		{"given since", "conn_1", "", 2, [][2]string{{"12:00:01", `{"rate":2}`}}, "342 of 342, own 0"},
		{"removed since", "conn_1", "3", -1, [][2]string{{"12:00:01", `{"rate":0}`}}, "342 of 342, own 0"},
		{"removed before", "conn_1", "3", 2, [][2]string{{"11:00:00", `{"rate":0}`}, {"11:00:01", `{"rate":2}`}}, "23 of 342, own 2"},
		{"another limit", "conn_1", "3", 0, [][2]string{{"12:00:01", `{"weight":7}`}}, "34 of 342, own 3"},
		{"of before there was a history", "conn_1", "3", 4, nil, "45 of 342, own 4"},
		{"back to its file's", "conn_1", "3", 0, [][2]string{{"11:00:00", `{"rate":9}`}, {"11:00:01", `{"weight":7}`}}, "34 of 342, own 3"},
	} {
		r := defined(5, campaign.Running, tt.connections)
		if tt.launched != "" {
			r.Definition = append(r.Definition, "limits: {rate: "+tt.launched+"}\n"...)
		}
		if tt.now != 0 {
			rate := max(tt.now, 0)
			r.Changed.Rate = &rate
		}
		other := defined(4, campaign.Running, tt.connections)
		q := Quarantined{Since: noon}
		err := q.estimate(t.Context(), c, happened{5: tt.history}, []campaign.Run{r, other}, 10*time.Second, slog.New(slog.DiscardHandler))
		got := fmt.Sprintf("%d of %d, own %g", q.of[5], q.Ahead, q.own[5])
		if err != nil || got != tt.want || q.of[4] != q.Ahead || q.own[4] != 0 {
			t.Errorf("%s: got %s, %d of the other run, and %v; want %s, as many as ahead, and no error", tt.name, got, q.of[4], err, tt.want)
		}
	}
	for name, r := range map[string]campaign.Run{"that does not answer": defined(9, campaign.Running, "slow"),
		"that cannot be read": defined(7, campaign.Running, "slow")} {
		q := Quarantined{Since: noon}
		if err := q.estimate(t.Context(), c, happened{7: {{"12:00:00", "{"}}}, []campaign.Run{r}, time.Second, nil); err == nil {
			t.Errorf("a history %s: got no error, want one", name)
		}
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
	q := Quarantined{Ahead: 35, of: map[campaign.RunNo]int64{7: 3}, own: map[campaign.RunNo]float64{7: 0.5}}
	err := q.count(t.Context(), l)
	want := "[{spring-7 paused ledger 5 10 3 0.5}]"
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
