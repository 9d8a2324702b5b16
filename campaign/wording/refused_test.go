package wording

import (
	"strings"
	"testing"
	"time"

	"campaignd/campaign/reception"
)

// clockAt is a minute of the tests.
func clockAt(minute int) time.Time {
	return time.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC)
}

// The state names what is refused until it is mended, and a stranger as a possible cause.
func TestRefusedEventsAreToldUntilTheyAreMended(t *testing.T) {
	s, _ := reception.Signatures{}.With(reception.SignatureNote{Verified: map[string]time.Time{"a": clockAt(0)}}, clockAt(0))
	if got, none := Refused(s, clockAt(1)); got != "" || none {
		t.Errorf("nothing refused: got %q, %v, want nothing", got, none)
	}
	s, _ = s.With(reception.SignatureNote{Wrong: 138, First: clockAt(2), Last: clockAt(3)}, clockAt(3))
	s, _ = s.With(reception.SignatureNote{Wrong: 1, First: clockAt(5), Last: clockAt(5)}, clockAt(5))
	got, none := Refused(s, clockAt(6))
	if want := "139 events with a wrong signature refused since 2026-11-25 12:02:00 UTC, " +
		"and none verified after the last: "; !none || !strings.HasPrefix(got, want) || !strings.Contains(got, "a stranger") {
		t.Errorf("none verified: got %q, %v\nwant %s", got, none, want)
	}
	if again, none := Refused(s, clockAt(5+23*60)); again != got || !none {
		t.Errorf("23 hours later: got %q, %v, want the same", again, none)
	}
	both, _ := s.With(reception.SignatureNote{Verified: map[string]time.Time{"a": clockAt(6)}, Wrong: 1, First: clockAt(7), Last: clockAt(7)},
		clockAt(7))
	if _, none := Refused(both, clockAt(7)); none {
		t.Error("an event that was verified a minute before the last refusal: got no verified event, want one")
	}
	both, _ = both.With(reception.SignatureNote{Wrong: 1, First: clockAt(12), Last: clockAt(12)}, clockAt(12))
	if _, none := Refused(both, clockAt(12)); !none {
		t.Error("six minutes before it: got that others are verified, want none")
	}
	mixed, _ := s.With(reception.SignatureNote{Verified: map[string]time.Time{"a": clockAt(6)}}, clockAt(6))
	if got, none := Refused(mixed, clockAt(14)); none || !strings.Contains(got, "half-done") || !strings.Contains(got, "a stranger") {
		t.Errorf("others verified: got %q, %v, want a rotation that is half done or a stranger", got, none)
	}
	if got, _ := Refused(mixed, clockAt(16)); got != "" {
		t.Errorf("mended: got %q, want nothing", got)
	}
	if got, _ := Refused(s, clockAt(6+24*60)); got != "" {
		t.Errorf("a day later: got %q, want nothing", got)
	}
	found, _ := s.With(reception.SignatureNote{Verified: map[string]time.Time{"b": clockAt(6)}}, clockAt(6))
	if got, _ := Refused(found, clockAt(6)); got != "" {
		t.Errorf("verified with another secret: got %q, want nothing", got)
	}
	const app = "app_secret_file of cloud.accounts"
	for _, tt := range []struct{ wrong, apps int64 }{{3, 0}, {3, 3}, {3, 1}} {
		note := reception.SignatureNote{Wrong: tt.wrong, Apps: tt.apps, First: clockAt(0), Last: clockAt(0)}
		s, _ := reception.Signatures{}.With(note, clockAt(0))
		got, _ := Refused(s, clockAt(1))
		if strings.Contains(got, app) != (tt.apps > 0) || strings.Contains(got, "webhooks.secrets") != (tt.apps < tt.wrong) {
			t.Errorf("%d refused, %d of them in the form of an app: got %q, want the key that each lacks", tt.wrong, tt.apps, got)
		}
	}
	later, _ := mixed.With(reception.SignatureNote{Wrong: 2, First: clockAt(30), Last: clockAt(30)}, clockAt(30))
	if !later.Since.Equal(clockAt(30)) || later.Count != 2 {
		t.Errorf("refused anew: got %d since %v, want 2 since %v", later.Count, later.Since, clockAt(30))
	}
}
