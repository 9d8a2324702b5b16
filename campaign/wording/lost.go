package wording

import "time"

// LostEvents says that events since a time are missing that nobody has asked for
// (reception.NotAsked), and what to do.
func LostEvents(since time.Time) (told, remedy string) {
	at := since.UTC().Format(time.RFC3339)
	return "events since " + at + " were lost and not replayed: opt-outs among them are not obeyed",
		"`campaignd webhooks replay --since " + at + "`, while serve takes webhooks"
}
