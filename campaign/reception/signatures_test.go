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
		"an hour after the first":           {[]signed{{0, 1, ""}, {5, 0, "a"}, {10, 1, ""}, {65, 0, "a"}}, map[int]int{5: 0, 65: 10}},
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

// noted is what a process notes of one minute: refusals from first to last, and secrets that
// verified an event.
type noted struct {
	now, first, last int
	wrong, apps      int64
	verified         map[string]int
}

func signaturesOf(all ...noted) (s Signatures) {
	for _, n := range all {
		note := SignatureNote{Wrong: n.wrong, Apps: n.apps, Verified: map[string]time.Time{}}
		if n.wrong > 0 {
			note.First, note.Last = clockAt(n.first), clockAt(n.last)
		}
		for secret, at := range n.verified {
			note.Verified[secret] = clockAt(at)
		}
		s, _ = s.With(note, clockAt(n.now))
	}
	return s
}

// Each case adds a last note to the same beginning: an event of secret a, then 3 refusals.
func TestRefusalsAreCountedUntilTheyAreMended(t *testing.T) {
	const day = 24 * 60
	for _, c := range []struct {
		name        string
		last        []noted
		count, apps int64
		since, to   int
		mended      int // -1: not
	}{
		{"more of them", []noted{{now: 9, first: 7, last: 9, wrong: 2, apps: 1}}, 5, 2, 2, 9, -1},
		{"noted late by another process", []noted{{now: 9, first: 3, last: 3, wrong: 2, apps: 2}}, 5, 3, 2, 4, -1},
		{"the known secret verifies", []noted{{now: 9, verified: map[string]int{"a": 9}}}, 3, 1, 2, 4, -1},
		{"another secret verifies", []noted{{now: 9, verified: map[string]int{"b": 8}}}, 3, 1, 2, 4, 8},
		{"another secret had verified before the last refusal", []noted{{now: 9, verified: map[string]int{"b": 3}}}, 3, 1, 2, 4, -1},
		{"refused after that", []noted{{now: 9, verified: map[string]int{"b": 8}}, {now: 11, first: 10, last: 11, wrong: 7}}, 7, 0, 10, 11, 8},
		{"refused ten minutes after verified events", []noted{{now: 9, verified: map[string]int{"a": 9}},
			{now: 15, first: 14, last: 14, wrong: 7}}, 10, 1, 2, 14, -1},
		{"a minute later than that", []noted{{now: 9, verified: map[string]int{"a": 9}},
			{now: 15, first: 15, last: 15, wrong: 7}}, 7, 0, 15, 15, -1},
		{"a day later without verified events", []noted{{now: day + 4, first: day + 4, last: day + 4, wrong: 7}}, 10, 1, 2, day + 4, -1},
		{"more than a day later", []noted{{now: day + 5, first: day + 5, last: day + 5, wrong: 7}}, 7, 0, day + 5, day + 5, -1},
	} {
		all := append([]noted{{now: 1, verified: map[string]int{"a": 1}}, {now: 4, first: 2, last: 4, wrong: 3, apps: 1}}, c.last...)
		s := signaturesOf(all...)
		if s.Count != c.count || s.Apps != c.apps || !s.Since.Equal(clockAt(c.since)) || !s.Last.Equal(clockAt(c.to)) {
			t.Errorf("%s: got %d, %d of apps, from %v to %v; want %d, %d, from %v to %v", c.name, s.Count, s.Apps, s.Since, s.Last,
				c.count, c.apps, clockAt(c.since), clockAt(c.to))
		}
		if s.Mended.IsZero() != (c.mended < 0) || c.mended >= 0 && !s.Mended.Equal(clockAt(c.mended)) {
			t.Errorf("%s: mended at %v, want minute %d (-1: not)", c.name, s.Mended, c.mended)
		}
		if got, want := s.OfApps(), c.apps == c.count; got != want {
			t.Errorf("%s: all are of apps: %v, want %v", c.name, got, want)
		}
	}
	if (Signatures{}).OfApps() {
		t.Error("nothing was refused: got all of apps, want none")
	}
}

func TestRefusedEndsAtItsTime(t *testing.T) {
	const day = 24 * 60
	refusals := noted{now: 4, first: 2, last: 4, wrong: 3}
	verified := func(secret string, at int) noted { return noted{now: at, verified: map[string]int{secret: at}} }
	for _, c := range []struct {
		name          string
		s             Signatures
		now           int
		refused, none bool
	}{
		{"nothing", signaturesOf(verified("a", 1)), 5, false, false},
		{"none verified since", signaturesOf(verified("a", 1), refusals), 5, true, true},
		{"none ever", signaturesOf(refusals), 5, true, true},
		{"none for a day", signaturesOf(verified("a", 1), refusals), 4 + day, true, true},
		{"none for more than a day", signaturesOf(verified("a", 1), refusals), 5 + day, false, false},
		{"others beside it", signaturesOf(verified("a", 1), refusals, verified("a", 6)), 7, true, false},
		{"others for ten minutes", signaturesOf(verified("a", 1), refusals, verified("a", 6)), 14, true, false},
		{"others for longer", signaturesOf(verified("a", 1), refusals, verified("a", 6)), 15, false, false},
		{"its own", signaturesOf(verified("a", 1), refusals, verified("b", 6)), 7, false, false},
		{"others five minutes before the last", signaturesOf(verified("a", 0), noted{now: 1, first: 1, last: 1, wrong: 1}, verified("a", 2),
			noted{now: 7, first: 7, last: 7, wrong: 1}), 8, true, false},
		{"others six minutes before the last", signaturesOf(verified("a", 0), noted{now: 1, first: 1, last: 1, wrong: 1}, verified("a", 2),
			noted{now: 8, first: 8, last: 8, wrong: 1}), 8, true, true},
	} {
		if refused, none := c.s.Refused(clockAt(c.now)); refused != c.refused || none != c.none {
			t.Errorf("%s: got refused %v, none verified %v; want %v, %v", c.name, refused, none, c.refused, c.none)
		}
	}
}

// A secret that verified nothing for a week is forgotten, and the record before a note is not
// changed by it.
func TestASecretIsForgottenAfterAWeek(t *testing.T) {
	const week = 7 * 24 * 60
	was := signaturesOf(noted{now: 1, verified: map[string]int{"a": 1, "b": 2}})
	for now, want := range map[int]int{week + 1: 3, week + 2: 2, week + 3: 1} {
		s, _ := was.With(SignatureNote{Verified: map[string]time.Time{"c": clockAt(week)}, Endpoints: map[string]string{"c": "new"}},
			clockAt(now))
		if len(s.Verified) != want || !s.LastVerified().Equal(clockAt(week)) || s.Endpoints["c"] != "new" {
			t.Errorf("minute %d: got %v of %v, want %d secrets, the last of minute %d", now, s.Verified, s.Endpoints, want, week)
		}
	}
	if len(was.Verified) != 2 || len(was.Endpoints) != 0 {
		t.Errorf("the record before: got %v, %v; want it unchanged", was.Verified, was.Endpoints)
	}
	next, _ := was.With(SignatureNote{Verified: map[string]time.Time{"b": clockAt(1)}}, clockAt(3)) // noted late
	if !next.Verified["b"].Equal(clockAt(2)) {
		t.Errorf("an older event: got %v, want the later time", next.Verified["b"])
	}
	if (SignatureNote{Endpoints: map[string]string{"c": "new"}}).Empty() || !(SignatureNote{}).Empty() || (SignatureNote{Wrong: 1}).Empty() {
		t.Error("a note with an endpoint or a refusal is empty, or one without is not; want the opposite")
	}
}

// An event that was verified between the refusals of one note leaves those after it open.
func TestAReplayFollowsRefusalsOfTheSameMinute(t *testing.T) {
	s := signaturesOf(noted{now: 1, verified: map[string]int{"a": 1}}, noted{now: 9, first: 2, last: 9, wrong: 4,
		verified: map[string]int{"a": 5}})
	if !s.Dark.Equal(clockAt(9)) || !s.Asked.Equal(clockAt(9)) {
		t.Errorf("got refused since %v and a replay at %v, want minute 9 for both", s.Dark, s.Asked)
	}
	s = signaturesOf(noted{now: 1, verified: map[string]int{"a": 1}}, noted{now: 9, first: 2, last: 3, wrong: 4,
		verified: map[string]int{"a": 5}})
	if !s.Dark.IsZero() {
		t.Errorf("got refused since %v, want none after the verified event", s.Dark)
	}
	for at, owed := range map[int]bool{4: false, 5: true} { // the service repeats by itself within 2 minutes
		s := signaturesOf(noted{now: 2, first: 2, last: 2, wrong: 1}, noted{now: at, verified: map[string]int{"a": at}})
		if got := !s.Asked.IsZero(); got != owed {
			t.Errorf("verified %d minutes later: a replay %v, want %v", at-2, got, owed)
		}
	}
}
