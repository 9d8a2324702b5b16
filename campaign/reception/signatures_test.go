package reception

import (
	"testing"
	"time"
)

// clockAt is a time of the tests of signatures.
func clockAt(n int) time.Time { return time.Date(2026, 11, 25, 12, n, 0, 0, time.UTC) }

// signed is what a test of signatures does at a minute: events are refused, or verified with a
// secret.
type signed struct {
	at     int
	wrong  int64
	secret string
}

// A replay is due when an event is verified after refusals without one, and at most once an hour. A
// stranger who posts while events are verified causes none.
func TestAReplayWaitsForAVerifiedEvent(t *testing.T) {
	for name, c := range map[string]struct {
		did  []signed
		want map[int]int // since when a replay is asked for, by the minute at which it is
	}{
		"a wrong secret, mended":            {[]signed{{0, 0, "a"}, {5, 3, ""}, {9, 1, ""}, {20, 0, "b"}, {21, 0, "b"}}, map[int]int{20: 5}},
		"nothing is verified":               {[]signed{{0, 0, "a"}, {5, 3, ""}, {65, 1, ""}}, map[int]int{}},
		"a stranger beside verified events": {[]signed{{0, 9, ""}, {1, 0, "a"}, {2, 9, ""}, {3, 0, "a"}, {4, 9, ""}, {5, 0, "a"}}, map[int]int{}},
		"twice within an hour": {[]signed{{0, 1, ""}, {5, 0, "a"}, {10, 1, ""}, {20, 0, "a"}, {64, 0, "a"}, {66, 0, "a"}, {67, 0, "a"}},
			map[int]int{5: 0, 66: 10}},
		"another replica verifies at once": {[]signed{{5, 2, ""}, {6, 0, "a"}}, map[int]int{}},
	} {
		var s Signatures
		got := map[int]int{}
		for _, d := range c.did {
			n := SignatureNote{Wrong: d.wrong, First: clockAt(d.at), Last: clockAt(d.at)}
			if d.secret != "" {
				n.Verified = map[string]time.Time{d.secret: clockAt(d.at)}
			}
			var replay time.Time
			if s, replay = s.With(n, clockAt(d.at)); !replay.IsZero() {
				got[d.at] = int(replay.Sub(clockAt(0)) / time.Minute)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got replays at %v, want %v", name, got, c.want)
		}
		for at, since := range c.want {
			if from, asked := got[at]; !asked || from != since {
				t.Errorf("%s: got replays at %v, want %v", name, got, c.want)
			}
		}
	}
}

// The only endpoint with verified events is not removed; the other one of a half-done rotation is.
func TestTheEndpointThatWorksIsKnown(t *testing.T) {
	verified := func(secrets map[string]int, endpoints map[string]string) (s Signatures) {
		n := SignatureNote{Verified: map[string]time.Time{}, Endpoints: endpoints}
		for secret, at := range secrets {
			n.Verified[secret] = clockAt(at)
		}
		s, _ = s.With(n, clockAt(59))
		return s
	}
	for name, c := range map[string]struct {
		s      Signatures
		id     string
		others []string
		want   bool
	}{
		"nothing was ever verified":       {Signatures{}, "old", nil, true},
		"the only endpoint":               {verified(map[string]int{"a": 9}, nil), "old", nil, false},
		"both secrets verify":             {verified(map[string]int{"a": 9, "b": 8}, nil), "old", []string{"new"}, true},
		"one of them does":                {verified(map[string]int{"a": 9}, nil), "old", []string{"new"}, false},
		"the other did an hour ago":       {verified(map[string]int{"a": 59, "b": 1}, nil), "old", []string{"new"}, false},
		"an app's does not count":         {verified(map[string]int{"a": 9, AppSecret("c"): 9}, nil), "old", []string{"new"}, false},
		"an app's is no last event":       {verified(map[string]int{"a": 9, AppSecret("c"): 59}, nil), "old", nil, false},
		"the old one does, remove it":     {verified(map[string]int{"a": 9}, map[string]string{"b": "new"}), "old", []string{"new"}, false},
		"the old one does, remove new":    {verified(map[string]int{"a": 9}, map[string]string{"b": "new"}), "new", []string{"old"}, true},
		"the new one alone does":          {verified(map[string]int{"b": 9}, map[string]string{"b": "new"}), "old", []string{"new"}, true},
		"the new one alone does, keep it": {verified(map[string]int{"b": 9}, map[string]string{"b": "new"}), "new", []string{"old"}, false},
	} {
		if got := c.s.Works(c.id, c.others); got != c.want {
			t.Errorf("%s: another endpoint works: got %v, want %v", name, got, c.want)
		}
	}
}
