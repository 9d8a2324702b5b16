// Package ledgertest is the conformance suite of campaign.Ledger. Each backend runs it
// against empty ledgers; a subtest's name is the promise it holds, and the comments of
// the interface are the source of all of them. It uses no virtual time, because a
// database server has none: leases are either long or over when they are given.
package ledgertest

import (
	"testing"

	"campaignd/campaign"
)

// promise is one subtest.
type promise struct {
	name string
	test func(*fixture)
}

// Run runs the suite. open gives an empty ledger and closes it when the test ends.
func Run(t *testing.T, open func(*testing.T) campaign.Ledger) {
	for _, chapter := range []struct {
		name     string
		promises []promise
	}{
		{"Runs", runPromises},
		{"Import", importPromises},
		{"Leases", leasePromises},
		{"Park", parkPromises},
		{"Intents", intentPromises},
		{"Bounds", boundPromises},
		{"Results", resultPromises},
		{"Statuses", statusPromises},
		{"Templates", templatePromises},
		{"Adoption", adoptionPromises},
		{"Doubts", doubtPromises},
		{"Suppressions", suppressionPromises},
		{"Reports", reportPromises},
		{"Pages", pagePromises},
		{"Jobs", jobPromises},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			t.Parallel() // most of a promise's time is its database's
			for _, p := range chapter.promises {
				t.Run(p.name, func(t *testing.T) { p.test(newFixture(t, open)) })
			}
		})
	}
	t.Run("SegmentBehavesLikeItsModel", func(t *testing.T) {
		t.Parallel()
		testModel(t, open)
	})
}
