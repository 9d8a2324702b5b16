// Package ledgertest is the conformance suite of campaign.Ledger. The tests of each backend run it
// against empty ledgers:
//
//   - Run calls only the methods of the interface; RunMain runs its main chapters.
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

// chapters are the promises by their subject. The main ones are those of the way of a message.
var chapters = []struct {
	name     string
	promises []promise
	main     bool
}{
	{"Runs", runPromises, false},
	{"Import", importPromises, false},
	{"FollowUps", followUpPromises, false},
	{"Leases", leasePromises, true},
	{"Cancel", cancelPromises, false},
	{"OverLimit", overLimitPromises, false},
	{"Park", parkPromises, false},
	{"SegmentMoves", segmentMovePromises, false},
	{"Senders", senderPromises, false},
	{"Intents", intentPromises, true},
	{"People", peoplePromises, false},
	{"Repeats", repeatPromises, true},
	{"Edges", edgePromises, false},
	{"Results", resultPromises, true},
	{"Statuses", statusPromises, true},
	{"Holds", holdPromises, false},
	{"FailureHolds", failureHoldPromises, false},
	{"Adoption", adoptionPromises, false},
	{"Marks", markPromises, true},
	{"Prices", pricePromises, false},
	{"Listings", listingPromises, false},
	{"Doubts", doubtPromises, true},
	{"Listening", listeningPromises, false},
	{"WireLog", wireLogPromises, false},
	{"Suppressions", suppressionPromises, false},
	{"Companies", companyPromises, false},
	{"Moves", movePromises, false},
	{"Spellings", spellingPromises, false},
	{"OptOuts", optOutPromises, false},
	{"Lifts", liftPromises, false},
	{"Responses", responsePromises, false},
	{"Reachable", reachablePromises, false},
	{"Users", userPromises, false},
	{"Owners", ownerPromises, true},
	{"Reports", reportPromises, false},
	{"Summaries", summaryPromises, false},
	{"History", historyPromises, false},
	{"Persons", personPromises, false},
	{"Pages", pagePromises, false},
	{"Jobs", jobPromises, false},
	{"Limits", spentPromises, false},
	{"Firings", firingPromises, false},
	{"Access", accessPromises, false},
	{"Sessions", sessionPromises, false},
	{"Drafts", draftPromises, false},
	{"Audits", auditPromises, false},
	{"Drops", dropPromises, false},
	{"Notifications", notificationPromises, false},
	{"Shares", sharePromises, false},
	{"Retention", retentionPromises, false},
	{"Erasure", erasurePromises, false},
	{"Purchases", purchasePromises, false},
	{"PaymentLinks", paymentLinkPromises, false},
}

// Run runs the suite. open gives an empty ledger, with Origin, Platform and Notify as its options
// of those names and PerCompany, and closes it when the test ends.
func Run(t *testing.T, open func(*testing.T) campaign.Ledger) {
	run(t, open, false)
	t.Run("SegmentBehavesLikeItsModel", func(t *testing.T) {
		t.Parallel()
		testModel(t, open)
	})
}

// RunMain runs the main chapters of the suite. With the long tests, it is Run. It is for a backend
// whose empty ledgers take long to make.
func RunMain(t *testing.T, open func(*testing.T) campaign.Ledger) {
	if Long {
		Run(t, open)
		return
	}
	run(t, open, true)
}

// run runs all chapters, or the main ones.
func run(t *testing.T, open func(*testing.T) campaign.Ledger, main bool) {
	for _, chapter := range chapters {
		if main && !chapter.main {
			continue
		}
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
}
