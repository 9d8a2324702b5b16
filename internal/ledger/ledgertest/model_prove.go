package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"

	"pgregory.net/rapid"
)

// Prove lets a webhook tell about a message whose answer was lost. The message belongs to an open
// attempt, which may be an earlier one. While the delivery is being sent again, it cannot be known
// which attempt it is.
func (m *machine) Prove(t *rapid.T) {
	seq := rapid.Int64Range(0, modelRows-1).Draw(t, "seq")
	row := &m.rows[seq]
	if len(row.open) == 0 || row.status == campaign.Sending || row.status == campaign.Accepted {
		t.Skip("nothing to prove")
	}
	m.f.ids++
	e := event(fmt.Sprint("wamid.proof.", m.f.ids), m.key(seq), campaign.Sent, time.Time{})
	e.ReceivedAt = time.Now().Add(time.Minute) // after every intent
	m.f.apply(e)
	if s := m.f.sweep(); s.Adopted != 1 {
		t.Fatalf("swept %+v; want Adopted 1 for %+v", s, row)
	}
	first := slices.Min(slices.Collect(maps.Keys(row.open)))
	row.accept(row.attempt, e.MessageID)
	row.rank = 1
	delete(row.open, first)
}
