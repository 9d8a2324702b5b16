package webhooks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// A connection that the service names becomes a label of a metric: it is short, and there are few.
func TestNoEventMakesALongLabelOrTooManyLabels(t *testing.T) {
	i := newIntake(t, &memory{}, Options{})
	long := strings.Repeat("x", 2<<20)
	for _, id := range []string{"conn_1", long, "a\x01b", strings.Repeat("y", 201)} {
		i.fold([]messaging.Event{{Kind: messaging.KindStatus, Connection: id, Account: id, MessageID: "wamid.1", Status: "sent"}},
			time.Now(), false)
	}
	for n := range 2 * maxVerified {
		i.counters.verified(fmt.Sprint("conn_", n), time.Now())
	}
	all := i.Counts().Verified
	if len(all) > maxVerified+1 {
		t.Errorf("got %d labels, want at most %d", len(all), maxVerified+1)
	}
	for id := range all {
		if len(id) > 200 || strings.Contains(id, "\x01") {
			t.Errorf("got a label of %d bytes, want at most 200", len(id))
		}
	}
	if _, ok := all["conn_1"]; !ok {
		t.Error("got no conn_1, want the label of a connection")
	}
}
