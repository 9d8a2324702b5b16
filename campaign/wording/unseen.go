package wording

import (
	"fmt"

	"campaignd/internal/sentence"
)

// Unseen says that nobody knows whether accepted messages were delivered, because no event has come
// about some of them: silent of the accepted ones. It is "" if an event has come about each, and
// while the run sends and events come: those about the last messages are on their way.
func Unseen(accepted, silent int64, ended bool) string {
	switch {
	case silent == 0 || accepted == 0 || silent < accepted && !ended:
		return ""
	case silent >= accepted:
		return fmt.Sprintf("no event has come about the %s, so nobody knows what was delivered",
			sentence.Count(accepted, "accepted message", "accepted messages"))
	}
	return fmt.Sprintf("no event has come about %d of the %d accepted messages, so nobody knows whether they were delivered", silent, accepted)
}
