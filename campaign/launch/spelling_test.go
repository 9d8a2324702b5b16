package launch_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/recipients"
)

// One person is one row, whichever spelling a list has, and is no recipient under the other
// spelling of the campaign's own number. The first spelling is sent as it is written.
func TestTwoSpellingsAreOneRecipient(t *testing.T) {
	const list = `phone,first_name
+5491123456789,Ada
+541123456789,Ada
+551187654321,Bia
+5511987654321,Bia
+525512345678,Cruz
+5215512345678,Cruz
+2290197123456,Dossou
+22997123456,Dossou
+22507123456,Edi
+2250707123456,Edi
+2250107123456,Fanta
+551132654321,Gil
+5492214567890,our own number
`
	l, d := openLedger(t), parse(t, consenting("UTILITY", ""))
	path := writeFile(t, "list.csv", list)
	run := newRun(t, l, d, path)
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path,
		Senders: []int64{recipients.Key("+542214567890")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range lines(t, l, run.No) {
		got = append(got, line.To+" "+line.Reason)
	}
	if diff := cmp.Diff([]string{"+5491123456789 ", "+541123456789 duplicate", "+551187654321 ", "+5511987654321 duplicate",
		"+525512345678 ", "+5215512345678 duplicate", "+2290197123456 ", "+22997123456 duplicate", "+22507123456 ",
		"+2250707123456 duplicate", "+2250107123456 ", "+551132654321 ", "+5492214567890 recipient_is_sender"}, got); diff != "" {
		t.Errorf("rows -want +got:\n%s", diff)
	}
	run, err = l.Run(t.Context(), run.No)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"+22507123456", "+2250707123456"} {
		row, found, err := why.ExplainRecipient(t.Context(), l, run, why.Holds{}, recipients.Key(to), run.CreatedAt)
		if err != nil || !found || row.To != "+22507123456" {
			t.Errorf("why --to %s: %+v, found %v, %v; want the row of +22507123456", to, row, found, err)
		}
	}
	// A list that the run had under the other spelling has the same numbers.
	again := writeFile(t, "again.csv", "phone,first_name\n+541123456789,Ada\n+22997123456,Dossou\n")
	diff, err := launch.CompareList(t.Context(), l, run, again, d.Recipients.Options())
	if err != nil || diff.Both != 2 {
		t.Errorf("the list again: %+v, %v; want 2 numbers in both", diff, err)
	}
}
