package ledgertest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// Restorable is a ledger that can be quarantined.
type Restorable interface {
	campaign.Ledger
	Restored(ctx context.Context) error
	Quarantine(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
	Rehearse(ctx context.Context, ahead int64, of map[campaign.RunNo]int64, since time.Time) (int64, error)
	Newest(ctx context.Context) (time.Time, error)
}

// Tables is a ledger, opened as sender, whose tables a test reads and changes.
type Tables interface {
	Restorable
	// Alter runs a statement. NONE in it is a missing text, ZERO a missing time or hash.
	Alter(ctx context.Context, query string) error
	// Stored reads a row of one text.
	Stored(ctx context.Context, query string) (string, error)
	// QuarantineAt is Quarantine at the time now; since and now are in milliseconds.
	QuarantineAt(ctx context.Context, ahead, since, now int64) (int64, error)
	// MessageHash is the hash under which the ledger keeps a message id.
	MessageHash(id string) int64
	// ReadOnly opens the same ledger once more, only to read, and closes that.
	ReadOnly(ctx context.Context) error
}

var tablePromises = []struct {
	name     string
	test     func(*testing.T, Tables)
	parallel bool
}{
	{"AWrongArgumentIsRefusedAndWritesNothing", aWrongArgumentIsRefusedAndWritesNothing, true},
	{"ASegmentMayBeFullOrEmpty", aSegmentMayBeFullOrEmpty, true},
	{"AnEmptyCallDoesNothing", anEmptyCallDoesNothing, true},
	{"AQuietSegmentIsCountedByItsSummary", aQuietSegmentIsCountedByItsSummary, true},
	{"AForgottenChangeIsFound", aForgottenChangeIsFound, true},
	{"WhatADeadProcessCountedIsCountedAgain", whatADeadProcessCountedIsCountedAgain, true},
	{"ASegmentIsCountedOnceItIsQuiet", aSegmentIsCountedOnceItIsQuiet, true},
	{"ASummaryCountsOutcomesWithoutDeliveries", aSummaryCountsOutcomesWithoutDeliveries, true},
	{"NewsIsCountedBeforeImportedLists", newsIsCountedBeforeImportedLists, true},
	{"ResponsesAreUnknownBeforeTheyWereKept", responsesAreUnknownBeforeTheyWereKept, true},
	{"ASummaryOutlivesItsRows", aSummaryOutlivesItsRows, true},
	{"AuditFindsEachFaultAndNothingElse", auditFindsEachFaultAndNothingElse, false},
	{"AuditFindsEachFaultOfARow", auditFindsEachFaultOfARow, false},
	{"AuditCountsTheStatusesOfTheLines", auditCountsTheStatusesOfTheLines, false},
	{"TheAuditCountsWhatTheRunSays", theAuditCountsWhatTheRunSays, true},
	{"ARetryBeyondTheBudgetIsHeldAndNotSkipped", aRetryBeyondTheBudgetIsHeldAndNotSkipped, true},
	{"AnIntentForNothingIsNotHeld", anIntentForNothingIsNotHeld, true},
	{"QuarantineStopsAtItsEdges", quarantineStopsAtItsEdges, false},
	{"QuarantineEndsWhatWireLogsProve", quarantineEndsWhatWireLogsProve, true},
	{"QuarantineDoubtsWhatMayHaveBeenPosted", quarantineDoubtsWhatMayHaveBeenPosted, false},
	{"QuarantinePausesWhatCouldSend", quarantinePausesWhatCouldSend, false},
	{"TheLostTimeBeginsAtAReportOfASender", theLostTimeBeginsAtAReportOfASender, true},
	{"AReplayCountsForTheLostTimeThatItCovers", aReplayCountsForTheLostTimeThatItCovers, true},
	{"QuarantineKeepsTheConnectionOfAnEvent", quarantineKeepsTheConnectionOfAnEvent, false},
	{"QuarantineKnowsThatSegmentsMove", quarantineKnowsThatSegmentsMove, false},
	{"QuarantineCountsAgainstTheBudgetAndNotBeyondIt", quarantineCountsAgainstTheBudgetAndNotBeyondIt, false},
	{"QuarantineOfNothingAcceptsTheLedgerAsItStands", quarantineOfNothingAcceptsTheLedgerAsItStands, false},
	{"ARepeatedMessageIDIsFlaggedAtBoth", aRepeatedMessageIDIsFlaggedAtBoth, true},
	{"TwoIDsOfOneHashAreNotRepeated", twoIDsOfOneHashAreNotRepeated, true},
	{"EachSweepTakesOneStepAndCountsIt", eachSweepTakesOneStepAndCountsIt, false},
	{"WhatHasNoTimeHappenedNow", whatHasNoTimeHappenedNow, true},
	{"AnyNumberOfProvableDoubtsIsAdopted", anyNumberOfProvableDoubtsIsAdopted, false},
	{"WhatStaysAmbiguousKeepsNobodyWaiting", whatStaysAmbiguousKeepsNobodyWaiting, false},
	{"MessagesOfOneRecipientProveEachItsOwn", messagesOfOneRecipientProveEachItsOwn, false},
	{"ADoubtIsProvenAmongManyStrangersMessages", aDoubtIsProvenAmongManyStrangersMessages, false},
	{"ADoneSegmentIsCountedOnce", aDoneSegmentIsCountedOnce, true},
	{"ANumberIsFoundByItsPseudonymWhereverItIs", aNumberIsFoundByItsPseudonymWhereverItIs, false},
	{"AStrangersStatusNamesNoErasedNumber", aStrangersStatusNamesNoErasedNumber, false},
	{"ASecondErasureMeetsTheFirst", aSecondErasureMeetsTheFirst, true},
	{"EachTableIsExportedOrExcused", eachTableIsExportedOrExcused, true},
	{"AnExportHasAllThatAnErasureRemoves", anExportHasAllThatAnErasureRemoves, false},
	{"AnErasureRemovesUserIDs", anErasureRemovesUserIDs, false},
	{"TheOldestWishesGoFirst", theOldestWishesGoFirst, false},
	{"EventsBesideAnErasureStoreNothing", eventsBesideAnErasureStoreNothing, false},
	{"OrdersBesideAnErasureStoreNothing", ordersBesideAnErasureStoreNothing, false},
	{"OldOrdersHaveNoNumber", oldOrdersHaveNoNumber, true},
	{"OldPaymentLinksAreForgotten", oldPaymentLinksAreForgotten, true},
	{"TheStateOfARunSaysWhatAClaimTakes", theStateOfARunSaysWhatAClaimTakes, true},
	{"ResultsMergeByTheRule", resultsMergeByTheRule, true},
	{"WhatIsGivenUpMayHaveBeenSent", whatIsGivenUpMayHaveBeenSent, true},
	{"AnOlderSchemaIsNotRead", anOlderSchemaIsNotRead, true},
}

// RunTables runs the part of the suite that looks into the tables. open gives an empty ledger and
// closes it when the test ends.
func RunTables(t *testing.T, open func(*testing.T) Tables) {
	for _, p := range tablePromises {
		t.Run(p.name, func(t *testing.T) {
			if p.parallel {
				t.Parallel()
			}
			p.test(t, open(t))
		})
	}
}

// alter changes the tables directly, without the methods of the ledger.
func alter(t *testing.T, l Tables, query string) {
	t.Helper()
	if err := l.Alter(t.Context(), query); err != nil {
		t.Fatalf("%s: %v; want no error", query, err)
	}
}

// stored reads a row of a table as one text; NULL reads like 0 or nothing.
func stored(t *testing.T, l Tables, query string) string {
	t.Helper()
	text, err := l.Stored(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v; want no error", query, err)
	}
	return text
}

// quarantineAt quarantines at a time of the test's choice.
func quarantineAt(t *testing.T, l Tables, ahead, since, now int64) int64 {
	t.Helper()
	n, err := l.QuarantineAt(t.Context(), ahead, since, now)
	if err != nil {
		t.Fatalf("quarantine: %v; want no error", err)
	}
	return n
}

// A ledger that is opened only to read cannot upgrade an older schema, so it is refused.
func anOlderSchemaIsNotRead(t *testing.T, l Tables) {
	const newest = `SELECT CAST(max(version_id) AS text) FROM goose_db_version`
	knows := stored(t, l, newest)
	alter(t, l, `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	err := l.ReadOnly(t.Context())
	want := "its schema (" + stored(t, l, newest) + ") is older than this program's (" + knows +
		"): open it once with `campaignd serve` or `run`"
	if err == nil || errors.Is(err, campaign.ErrNewer) || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v; want an error with %q", err, want)
	}
}
