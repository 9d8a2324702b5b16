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
// a run that meets no other is not compared, and neither is a message that was certainly not sent.
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
	p.posted[2].attempt.unsent.Store(true)
	if got := p.wait(&attempt{delivery: campaign.Delivery{Key: 2}, pair: true}, start.Add(21*time.Second)); !got.IsZero() {
		t.Errorf("after a message that was not sent the recipient waits until %v, want no wait", got)
	}
}
