package wording

import (
	"testing"
	"time"
)

// The time of the sentence is the one that the command takes.
func TestLostEventsAreToldWithTheCommand(t *testing.T) {
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.FixedZone("", 3600))
	told, remedy := LostEvents(at)
	if want := "events since 2026-11-27T08:00:00Z were lost and not replayed: opt-outs among them are not obeyed"; told != want {
		t.Errorf("got %q, want %q", told, want)
	}
	if want := "`campaignd webhooks replay --since 2026-11-27T08:00:00Z`, while serve takes webhooks"; remedy != want {
		t.Errorf("got %q, want %q", remedy, want)
	}
}
