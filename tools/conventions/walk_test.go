package conventions

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// walk lists what misled new users and operators, and the test against each. The key is the folder
// and the name of a test, the value what happened once.
var walk = map[string]string{
	// No mistake of an operator sends to anybody twice.
	"cmd/campaignd TestNewIsRefusedWhileItsListIsUnfinished":       "--new after Ctrl-C launched another run to the same people",
	"cmd/campaignd TestAnEditedListIsRefusedBesideAnUnfinishedRun": "an edited or re-saved list launched a second run silently",
	"cmd/campaignd TestTheCommandThatGoesOnCanBePasted":            "the command that goes on was not named",
	"campaign/launch TestListsAreComparedByNumber":                 "a re-saved list was another list, and how it differs was not said",
	"internal/daemon TestFiringsBehindAnUnfinishedRunAreSkipped":   "firings piled up behind a closed window",
	// serve says what it took over.
	"cmd/campaignd TestServeSaysWhatItTookOver":             "serve said nothing of unfinished runs, campaigns and ends",
	"cmd/campaignd TestResumeAllChoosesByReason":            "each paused run had to be resumed by hand",
	"internal/daemon TestMetricsCountMessagesAndNameNobody": "no gauge told paused runs or silent connections",
	// Misfires do what their words say.
	"internal/schedule TestEachFiringHasOneOutcome":              "a firing was late beyond its policy, or skipped without a trace",
	"internal/schedule TestAFiringIsDueWithinItsGrace":           "skip started a firing 2 m 29 s late",
	"cmd/campaignd TestScheduleSaysWhatBecameOfTheLastFirings":   "a missed firing was not listed",
	"internal/schedule TestFiringsThatFailForOneCauseAreOneLine": "each firing of a campaign without its list was the same two errors",
	"internal/schedule TestAChangedScheduleCountsFromItsChange":  "firings before a change of the schedule were missed",
	// Exit codes as written.
	"cmd/campaignd TestRunIsUnsureOfOpenAndUnknownRowsOnly": "which ended rows make 3 was not said",
	"cmd/campaignd TestCancelledRowsGoIntoAFollowUp":        "a cancelled run was exit code 0",
	// Files.
	"internal/ledger/sqlite TestOnlyTheOwnerReadsTheLedgersFiles": "ledger, stamp, lock and WAL were readable by all",
	"cmd/campaignd TestAReaderNeedsNoRightToWriteTheLedger":       "report failed in a read-only folder",
	"internal/ledger/sqlite TestAFullDiskIsTwoLinesInTheLog":      "a full disk was 617 lines in ten minutes",
	"internal/ledger/postgres TestAFullDiskOfPostgresIsOneLine":   "a full disk was a line of each part of the program",
	"internal/ledger/postgres TestAServerThatIsAwayIsOneLine":     "and so was a server that was away",
	"internal/daemon TestRunGivesUpAMinuteAfterItsDiskIsFull":     "run waited for ever on a full disk",
	"internal/filelock TestACopyOfTheFileKeepsNoReleasedLock":     "a ledger was in use by a command that had ended",
	// Every key is an environment variable.
	"internal/config TestAVariableSetsOneKeyOfOneNumber":   "CAMPAIGND_NUMBERS_CONN_1_RATE was ignored",
	"internal/config TestAVariableThatNamesNoKeyIsRefused": "a misspelled variable was ignored",
	// Words.
	"cmd/campaignd TestMessagesShowLettersOfAnyScript":           "names of columns were printed as escapes",
	"cmd/campaignd TestCheckTellsEachRemedyOnce":                 "the same sentence hundreds of times",
	"cmd/campaignd TestCheckNamesEachFaultInALineOfItsOwn":       "faults of check on both outputs",
	"cmd/campaignd TestScheduleSaysThatItsFolderIsMissing":       "a missing campaigns folder was taken for an empty one",
	"cmd/campaignd TestADashImportsFromStandardInput":            "suppressions import - looked for a file named -",
	"cmd/campaignd TestBarsEndWhereverTheRunEnds":                "the bar jumped to full at Ctrl-C",
	"cmd/campaignd TestTheTextAfterABarIsCutToTheTerminal":       "the bar was empty below 50 columns",
	"cmd/campaignd TestProgressSaysHowLongSendingTakes":          "no time left was shown",
	"campaign/why TestWhyOffersAFollowUpItsOwnCommand":           "why offered run for a follow-up",
	"internal/config TestZeroConfigurationRunsAgainstTheSandbox": "run listened on all interfaces",
	// Values nobody wants to send.
	"cmd/campaignd TestReportForExcelHasTheListsDelimiter":    "reports did not open in Excel",
	"cmd/campaignd TestCheckSaysWhenSendingWouldBegin":        "check did not say that the window is closed",
	"recipients TestExcelsTextFormulaIsReadAsText":            "=\"0803...\" was no number",
	"recipients TestUnusedColumnsMayShareAName":               "two empty headers stopped a list",
	"recipients TestTextCellsChangeNoOtherCell":               "=\"0803...\" beside a cell of several lines was two broken rows",
	"campaign/launch TestCheckWarnsOfValuesNobodyWantsToSend": "#N/A, NULL, formulas and {{name}} were sent",
	"campaign/launch TestForbiddenValuesSkipTheirRows":        "such rows could not be skipped",
	// Doubt and downtime.
	"campaign/sender TestDoubtsOutliveADowntime":                     "40 minutes of downtime made doubts unknown at once",
	"campaign/reception TestTheDoubtWindowRunsWhileWebhooksAreTaken": "the window ran while nobody listened",
	"campaign/reception TestLateWebhooksAreDueAfterAnOutage":         "resolve sent again while webhooks were due, without a word",
	// A list for a running serve.
	"cmd/campaignd TestLaunchGivesAListToTheServeOfItsLedger": "a list could not be given to the process that holds the ledger",
	// The README's walk.
	"cmd/campaignd TestTheReadmesWalkWorksAsPrinted": "the README's commands failed in an empty folder",
}

func TestEachStepOfTheWalkHasItsTest(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, folder := range []string{"campaign", "campaign/launch", "campaign/reception", "campaign/sender", "campaign/why", "cmd/campaignd",
		"internal/config",
		"internal/daemon", "internal/doctor", "internal/schedule", "internal/filelock", "internal/ledger/postgres",
		"internal/ledger/sqlite", "recipients"} {
		files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("tests of %s: got %d files, %v; want one or more", folder, len(files), err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range test.FindAllStringSubmatch(string(src), -1) {
				known[folder+" "+m[1]] = true
			}
		}
	}
	for name, happened := range walk {
		if !known[name] {
			t.Errorf("got no test %s, want one that holds: %s", name, happened)
		}
	}
}
