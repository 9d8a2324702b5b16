package ledger

import (
	"fmt"
	"slices"
	"testing"

	"campaignd/campaign"
)

// A connection that begins to send with a tier is counted first, once: whom it reached without one
// nothing has noted.
func TestATierCountsAConnectionBeforeItBegins(t *testing.T) {
	t.Parallel()
	var tiers Tiers
	intents := func(connection string, places int64) []campaign.Intent {
		return []campaign.Intent{{Connection: connection, Tier: campaign.Tier{Portfolio: "main", Places: places}}}
	}
	for i, step := range []struct {
		connection string
		places     int64
		want       []Member
	}{
		{"conn_1", 250, []Member{{"main", "conn_1"}}},
		{"conn_1", 250, nil},
		{"conn_2", 250, []Member{{"main", "conn_2"}}},
		{"conn_1", 0, nil}, // it sends without a tier
		{"conn_1", 250, []Member{{"main", "conn_1"}}},
		{"conn_2", 250, nil},
	} {
		got := tiers.Uncounted(intents(step.connection, step.places))
		if fmt.Sprint(got) != fmt.Sprint(step.want) {
			t.Errorf("step %d: to be counted: %v, want %v", i+1, got, step.want)
		}
		for _, m := range got {
			tiers.Counted(m)
		}
	}
}

// Intents of several segments of one connection count it once.
func TestAConnectionIsCountedOnceForAllItsIntents(t *testing.T) {
	t.Parallel()
	var tiers Tiers
	in := campaign.Intent{Connection: "conn_1", Tier: campaign.Tier{Portfolio: "main", Places: 250}}
	if got, want := tiers.Uncounted([]campaign.Intent{in, in}), []Member{{"main", "conn_1"}}; !slices.Equal(got, want) {
		t.Errorf("to be counted: got %v, want %v", got, want)
	}
}
