// Package ledgertest is the conformance suite of campaign.Ledger. The tests of each backend run it
// against empty ledgers:
//
//   - Run calls only the methods of the interface.
//   - RunTables also looks into the tables.
//   - RunFaults makes statements fail.
//   - RunClock sets the clock of leases.
//   - RunUpgrade upgrades a ledger of an older schema and continues its runs.
//   - NamedCodes reads the SQL of the backend and checks that each code in it has its name.
//
// The name of a subtest is the promise that it checks. The comments of the interface state all
// promises. The suite uses no virtual time, because a database server has none: leases are either
// long, or have ended when they begin.
//
// The other functions fill ledgers (Load, ClaimAll, Provable), or check one promise for the
// backends' mutation tests and benchmarks.
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

// Run runs the suite. open gives an empty ledger, with Origin and Notify as its options of those
// names and PerCompany, and closes it when the test ends.
func Run(t *testing.T, open func(*testing.T) campaign.Ledger) {
	for _, chapter := range []struct {
		name     string
		promises []promise
	}{
		{"Runs", runPromises},
		{"Import", importPromises},
		{"FollowUps", followUpPromises},
		{"Leases", leasePromises},
		{"Cancel", cancelPromises},
		{"OverLimit", overLimitPromises},
		{"Park", parkPromises},
		{"SegmentMoves", segmentMovePromises},
		{"Senders", senderPromises},
		{"Intents", intentPromises},
		{"People", peoplePromises},
		{"Edges", edgePromises},
		{"Results", resultPromises},
		{"Statuses", statusPromises},
		{"Holds", holdPromises},
		{"FailureHolds", failureHoldPromises},
		{"Adoption", adoptionPromises},
		{"Marks", markPromises},
		{"Prices", pricePromises},
		{"Listings", listingPromises},
		{"Doubts", doubtPromises},
		{"Listening", listeningPromises},
		{"WireLog", wireLogPromises},
		{"Suppressions", suppressionPromises},
		{"Companies", companyPromises},
		{"Moves", movePromises},
		{"Spellings", spellingPromises},
		{"OptOuts", optOutPromises},
		{"Lifts", liftPromises},
		{"Responses", responsePromises},
		{"Reachable", reachablePromises},
		{"Users", userPromises},
		{"Reports", reportPromises},
		{"Summaries", summaryPromises},
		{"History", historyPromises},
		{"Persons", personPromises},
		{"Pages", pagePromises},
		{"Jobs", jobPromises},
		{"Limits", spentPromises},
		{"Firings", firingPromises},
		{"Access", accessPromises},
		{"Sessions", sessionPromises},
		{"Drafts", draftPromises},
		{"Audits", auditPromises},
		{"Drops", dropPromises},
		{"Notifications", notificationPromises},
		{"Shares", sharePromises},
		{"Retention", retentionPromises},
		{"Erasure", erasurePromises},
		{"Purchases", purchasePromises},
		{"PaymentLinks", paymentLinkPromises},
	} {
		t.Run(chapter.name, func(t *testing.T) {
			t.Parallel() // a subtest mostly waits for its database
			for _, p := range chapter.promises {
				t.Run(p.name, func(t *testing.T) {
					f := newFixture(t, open)
					f.l = folding{f.l, f}
					p.test(f)
					f.allSummed()
				})
			}
		})
	}
	t.Run("SegmentBehavesLikeItsModel", func(t *testing.T) {
		t.Parallel()
		testModel(t, open)
	})
}
