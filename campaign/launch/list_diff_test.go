package launch_test

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// frozen is the rows of a run.
type frozen []campaign.Line

func (f frozen) Lines(context.Context, campaign.RunNo) iter.Seq2[campaign.Line, error] {
	return func(yield func(campaign.Line, error) bool) {
		for _, l := range f {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// freeze is what an import makes of a list.
func freeze(t *testing.T, path string, text string) (rows frozen, header []string) {
	t.Helper()
	list, err := launch.OpenList(overwrite(t, path, text), recipients.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := list.Close(); err != nil {
			t.Error(err)
		}
	}()
	for {
		row, err := list.Next()
		if err != nil {
			return rows, list.Header()
		}
		l := campaign.Line{Delivery: campaign.Delivery{Key: row.Key, Cells: row.Cells}, Status: campaign.Queued}
		if row.Fault != nil {
			l.Key, l.Status = 0, campaign.Skipped
		}
		rows = append(rows, l)
	}
}

func TestListsAreComparedByNumber(t *testing.T) {
	const ada, bola, bad = "+2348031234501,Ada\n", "+2348031234502,Bola\n", "nobody,X\n"
	const head = "phone,name\n"
	for _, tt := range []struct {
		name, was, is string
		state         campaign.State
		want          launch.ListDifference
		words         string
	}{
		{"the same", head + ada + bola, head + ada + bola, campaign.Ready, launch.ListDifference{Both: 2},
			"the same rows; only the encoding, the line ends or the quotes differ; 2 numbers are in both"},
		{"a number written otherwise", head + ada, head + "+234 803 123 4501,Ada\n", campaign.Ready,
			launch.ListDifference{Changed: 1, Both: 1}, "1 row changed; 1 number is in both"},
		{"a row twice", head + ada, head + ada + ada, campaign.Ready, launch.ListDifference{Added: 1, Both: 1},
			"1 row added; 1 number is in both"},
		{"one of two rows of a number", head + ada + "+2348031234501,Ade\n", head + "+2348031234501,Ade\n" + bola, campaign.Ready,
			launch.ListDifference{Added: 1, Removed: 1, Both: 1}, "1 row added, 1 removed; 1 number is in both"},
		{"bad rows", head + bad + ada, head + "nobody,Y\n" + ada, campaign.Ready,
			launch.ListDifference{Added: 1, Removed: 1, Both: 1}, "1 row added, 1 removed; 1 number is in both"},
		{"a bad row corrected", head + bad, head + bola, campaign.Ready,
			launch.ListDifference{Added: 1, Removed: 1}, "1 row added, 1 removed; 0 numbers are in both"},
		{"columns", head + ada, "name,phone,tz,a,b,c\nAda,+2348031234501,x,x,x,x\n", campaign.Ready,
			launch.ListDifference{Columns: "columns added: tz, a, b and 1 more", Both: 1},
			"columns added: tz, a, b and 1 more; 1 number is in both"},
		{"columns in another order", head + ada, "name,phone\nAda,+2348031234501\n", campaign.Ready,
			launch.ListDifference{Columns: "columns in another order", Both: 1}, "columns in another order; 1 number is in both"},
		{"an import that was interrupted", head + ada, head + ada + bola, campaign.Importing,
			launch.ListDifference{Both: 1, Interrupted: true},
			"the same rows; only the encoding, the line ends or the quotes differ; 1 number is in both; " +
				"compared with the 1 row that its import had reached"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			rows, header := freeze(t, filepath.Join(dir, "was.csv"), tt.was)
			list := overwrite(t, filepath.Join(dir, "is.csv"), tt.is)
			got, err := launch.CompareList(t.Context(), rows, campaign.Run{State: tt.state, Header: header}, list, recipients.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Compared = int64(len(rows))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("difference -want +got:\n%s", diff)
			}
			if got.String() != tt.words {
				t.Errorf("got %q, want %q", got, tt.words)
			}
		})
	}
}

// A number that the run skipped was not sent to, so it is not in both.
func TestASkippedRowIsNotInBothLists(t *testing.T) {
	list := overwrite(t, filepath.Join(t.TempDir(), "list.csv"), "phone\n+2348031234501\n+2348031234502\n")
	rows, header := freeze(t, list, "phone\n+2348031234501\n+2348031234502\n")
	rows[0].Status = campaign.Skipped
	got, err := launch.CompareList(t.Context(), rows, campaign.Run{Header: header}, list, recipients.Options{})
	if err != nil || got.Both != 1 || got.Removed+got.Added+got.Changed != 0 || got.Reordered {
		t.Errorf("got %+v and %v, want 1 number in both and no other difference", got, err)
	}
}

func TestOnlyAnotherListOfTheCampaignIsRefused(t *testing.T) {
	dir := t.TempDir()
	spring := overwrite(t, filepath.Join(dir, "spring.yaml"), springFile)
	autumn := overwrite(t, filepath.Join(dir, "autumn.yaml"), strings.Replace(springFile, "name: spring-sale", "name: autumn-sale", 1))
	list, other := overwrite(t, filepath.Join(dir, "list.csv"), springList), overwrite(t, filepath.Join(dir, "other.csv"), springList+"\n")
	l := openLedger(t)
	first := start(t, launch.Request{Ledger: l, Service: service(), File: spring, List: list})
	start(t, launch.Request{Ledger: l, Service: service(), File: autumn, List: other, SendAgain: true})
	start(t, launch.Request{Ledger: l, Service: service(), File: autumn, List: list, Key: campaign.FiringKey + "x"})
	refused := func(request launch.Request) *launch.UnfinishedError {
		t.Helper()
		request.Ledger, request.Service, request.File = l, service(), spring
		var e *launch.UnfinishedError
		if launched, err := request.Start(t.Context()); !errors.As(err, &e) {
			t.Fatalf("got %+v and %v, want an *UnfinishedError", launched.Run, err)
		}
		return e
	}
	if e := refused(launch.Request{List: list, New: true}); e.Run.No != first.Run.No || e.Difference != nil {
		t.Errorf("--new: got %+v, want run 1 and no difference", e)
	}
	if e := refused(launch.Request{List: other}); e.Run.No != first.Run.No || e.Difference == nil {
		t.Errorf("another list: got %+v, want run 1 with a difference", e)
	}
	var beside []campaign.RunNo
	second := start(t, launch.Request{Ledger: l, Service: service(), File: spring, List: other, New: true, SendAgain: true,
		Beside: func(r campaign.Run, d launch.ListDifference) { beside = append(beside, r.No) }})
	if !second.Imported || len(beside) != 1 || beside[0] != first.Run.No {
		t.Errorf("--new of another list: got run %d beside %v, want another run beside run 1", second.Run.No, beside)
	}
	if _, err := l.SetWanted(t.Context(), second.Run.No, campaign.WantCancel, ""); err != nil {
		t.Fatal(err)
	}
	if e := refused(launch.Request{List: overwrite(t, filepath.Join(dir, "third.csv"), springList+"\n\n")}); e.Run.No != first.Run.No {
		t.Errorf("beside a run that is to be cancelled: got %s, want run 1", e.Run.ID())
	}
}

func TestTimeThatHasPassedInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "a moment ago", 59 * time.Second: "a moment ago", time.Minute: "1 minute ago",
		119 * time.Minute: "1 hour ago", 30 * time.Hour: "30 hours ago", 49 * time.Hour: "2 days ago",
	} {
		if got := launch.Ago(d); got != want {
			t.Errorf("Ago(%s) = %q, want %q", d, got, want)
		}
	}
}
