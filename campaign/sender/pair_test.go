package sender

import (
	"testing"
	"time"

	"campaignd/campaign"
)

func TestRunsMeetWhereSeveralSendOverANumber(t *testing.T) {
	one := &run{connections: []string{"conn_1"}}
	two := &run{connections: []string{"conn_1", "conn_2"}}
	for _, tt := range []struct {
		name       string
		unfinished int
		active     []*run
		want       map[string]bool // whether they meet, by connection
	}{
		{"no run", 0, nil, map[string]bool{"conn_1": false}},
		{"one run", 1, []*run{two}, map[string]bool{"conn_1": false, "conn_2": false}},
		{"two runs", 2, []*run{one, two}, map[string]bool{"conn_1": true, "conn_2": false}},
		{"a run that another process sends", 2, []*run{one}, map[string]bool{"conn_1": true, "conn_9": true}},
		{"a run that only others send", 1, nil, map[string]bool{"conn_1": false}},
	} {
		m := meetingsOf(make([]campaign.Run, tt.unfinished), tt.active)
		for connection, want := range tt.want {
			if got := m.at(connection); got != want {
				t.Errorf("%s: they meet over %s: got %v, want %v", tt.name, connection, got, want)
			}
		}
	}
}

// The space counts from the last instant at which the first byte of a post may leave. An attempt of
// a run that meets no other is not compared.
func TestPostsOfAPairAreSixSecondsApart(t *testing.T) {
	var p pairs
	start := time.Now()
	for i, tt := range []struct {
		key   int64
		pair  bool
		after time.Duration
		until time.Duration // 0: it is posted
	}{
		{1, true, 0, 0},
		{1, true, time.Second, pairSpace},
		{2, true, time.Second, 0},
		{1, false, 2 * time.Second, 0},
		{0, true, 2 * time.Second, 0}, // no phone number
		{0, true, 2 * time.Second, 0},
		{1, true, pairSpace - 1, pairSpace},
		{1, true, pairSpace, 0},
		{1, true, pairSpace + 2*time.Second, 2 * pairSpace},
		{2, true, 20 * time.Second, 0},
	} {
		want := time.Time{}
		if tt.until > 0 {
			want = start.Add(tt.until)
		}
		got := p.wait(&attempt{delivery: campaign.Delivery{Key: tt.key}, pair: tt.pair}, start.Add(tt.after))
		if !got.Equal(want) {
			t.Errorf("case %d: recipient %d after %s waits until %v, want %v", i, tt.key, tt.after, got, want)
		}
	}
	if len(p.posted) != 1 {
		t.Errorf("%d recipients are remembered, want the last one alone", len(p.posted))
	}
}

// A message that was refused or not posted keeps no other one from its recipient. A doubt does.
func TestAMessageThatWasNotSentKeepsNoOtherAway(t *testing.T) {
	e, err := New(&resultLedger{}, nil, nil, Options{Owner: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for kind, waits := range map[campaign.ResultKind]bool{
		campaign.ResultAccepted: true, campaign.ResultDoubt: true, campaign.ResultRefused: false, campaign.ResultDeferred: false,
	} {
		var p pairs
		now := time.Now()
		next := func() *attempt {
			return &attempt{segment: newSegment(&run{no: 1}, campaign.Lease{}, newSignal()), delivery: campaign.Delivery{Key: 1}, pair: true}
		}
		first := next()
		p.wait(first, now)
		e.rec.record(newNumber("conn_1", e.o), first, campaign.Result{Kind: kind, At: now})
		if until := p.wait(next(), now.Add(time.Second)); until.IsZero() == waits {
			t.Errorf("after result %v the next message waits until %v, want that it waits: %t", kind, until, waits)
		}
	}
}
