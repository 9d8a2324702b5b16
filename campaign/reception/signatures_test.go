package reception

import (
	"strings"
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

// The state names what is refused until it is mended, and a stranger as a possible cause.
func TestRefusedEventsAreToldUntilTheyAreMended(t *testing.T) {
	s, _ := Signatures{}.With(SignatureNote{Verified: map[string]time.Time{"a": clockAt(0)}}, clockAt(0))
	if got, none := s.Refused(clockAt(1)); got != "" || none {
		t.Errorf("nothing refused: got %q, %v, want nothing", got, none)
	}
	s, _ = s.With(SignatureNote{Wrong: 138, First: clockAt(2), Last: clockAt(3)}, clockAt(3))
	s, _ = s.With(SignatureNote{Wrong: 1, First: clockAt(5), Last: clockAt(5)}, clockAt(5))
	got, none := s.Refused(clockAt(6))
	if want := "139 events with a wrong signature refused since 2026-11-25 12:02:00 UTC, " +
		"and none verified after the last: "; !none || !strings.HasPrefix(got, want) || !strings.Contains(got, "a stranger") {
		t.Errorf("none verified: got %q, %v\nwant %s", got, none, want)
	}
	if again, none := s.Refused(clockAt(5 + 23*60)); again != got || !none {
		t.Errorf("23 hours later: got %q, %v, want the same", again, none)
	}
	both, _ := s.With(SignatureNote{Verified: map[string]time.Time{"a": clockAt(6)}, Wrong: 1, First: clockAt(7), Last: clockAt(7)},
		clockAt(7))
	if _, none := both.Refused(clockAt(7)); none {
		t.Error("an event that was verified a minute before the last refusal: got that none is, want others")
	}
	both, _ = both.With(SignatureNote{Wrong: 1, First: clockAt(12), Last: clockAt(12)}, clockAt(12))
	if _, none := both.Refused(clockAt(12)); !none {
		t.Error("six minutes before it: got that others are verified, want none")
	}
	mixed, _ := s.With(SignatureNote{Verified: map[string]time.Time{"a": clockAt(6)}}, clockAt(6))
	if got, none := mixed.Refused(clockAt(14)); none || !strings.Contains(got, "half-done") || !strings.Contains(got, "a stranger") {
		t.Errorf("others verified: got %q, %v, want a rotation that is half done or a stranger", got, none)
	}
	if got, _ := mixed.Refused(clockAt(16)); got != "" {
		t.Errorf("mended: got %q, want nothing", got)
	}
	if got, _ := s.Refused(clockAt(6 + 24*60)); got != "" {
		t.Errorf("a day later: got %q, want nothing", got)
	}
	found, _ := s.With(SignatureNote{Verified: map[string]time.Time{"b": clockAt(6)}}, clockAt(6))
	if got, _ := found.Refused(clockAt(6)); got != "" {
		t.Errorf("verified with another secret: got %q, want nothing", got)
	}
	const app = "app_secret_file of cloud.accounts"
	for _, tt := range []struct{ wrong, apps int64 }{{3, 0}, {3, 3}, {3, 1}} {
		s, _ := Signatures{}.With(SignatureNote{Wrong: tt.wrong, Apps: tt.apps, First: clockAt(0), Last: clockAt(0)}, clockAt(0))
		got, _ := s.Refused(clockAt(1))
		if strings.Contains(got, app) != (tt.apps > 0) || strings.Contains(got, "webhooks.secrets") != (tt.apps < tt.wrong) {
			t.Errorf("%d refused, %d of them in the form of an app: got %q, want the key that each lacks", tt.wrong, tt.apps, got)
		}
	}
	later, _ := mixed.With(SignatureNote{Wrong: 2, First: clockAt(30), Last: clockAt(30)}, clockAt(30))
	if !later.Since.Equal(clockAt(30)) || later.Count != 2 {
		t.Errorf("refused anew: got %d since %v, want 2 since %v", later.Count, later.Since, clockAt(30))
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
