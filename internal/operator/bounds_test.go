package operator_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/plan"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/ledgertest"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

var errBroken = errors.New("the ledger is broken")

// broken is a ledger that cannot read the holds, and cannot read a key after some questions.
type broken struct {
	campaign.Ledger
	keys int // questions for a key that it still answers
}

func (*broken) Holds(context.Context, bool) ([]campaign.Hold, error) { return nil, errBroken }

func (b *broken) Key(ctx context.Context, id string) (campaign.OperatorKey, error) {
	if b.keys--; b.keys < 0 {
		return campaign.OperatorKey{}, errBroken
	}
	return b.Ledger.Key(ctx, id)
}

// An empty answer would say that nothing limits the number.
func TestNoNumberIsExplainedWithoutItsHolds(t *testing.T) {
	d, _ := session(t)
	d.Ledger, d.Configured = &broken{Ledger: d.Ledger}, func(string) bool { return true }
	if got, err := d.WhyNumber(t.Context(), "conn_1"); !errors.Is(err, errBroken) {
		t.Errorf("got %+v, %v; want the fault of the ledger", got, err)
	}
}

// A run of another version may have a region that this one does not know.
func TestNoRowIsDeniedIfItsNumberCannotBeRead(t *testing.T) {
	d, _ := session(t)
	file := "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {default_region: ZZ}\n"
	r, err := d.Ledger.CreateRun(t.Context(), campaign.Run{Campaign: "spring", ListHash: "a", Definition: []byte(file)})
	if err != nil {
		t.Fatal(err)
	}
	d.Origins = func(context.Context, []campaign.Hold) func(string) campaign.Origin { return ledgertest.Origin }
	_, err = d.WhyRecipient(t.Context(), r.ID(), "0803 123 4567")
	if err == nil || !strings.Contains(err.Error(), "recipients.default_region: ") {
		t.Errorf("got %v, want the fault of the region", err)
	}
}

// The secret of a key that another request may have made is of no use.
func TestNoSecretIsGivenOfAKeyThatCannotBeRead(t *testing.T) {
	for answers, want := range []int{0, 1} {
		d, _ := session(t)
		sound := d.Ledger
		d.Ledger = &broken{Ledger: sound, keys: answers}
		if k, err := d.CreateKey(t.Context(), "ci", "read", "", ""); !errors.Is(err, errBroken) || k.Secret != "" {
			t.Errorf("after %d answers: got a secret %v, %v; want none, and the fault of the ledger", answers, k.Secret != "", err)
		}
		actions, err := sound.Actions(t.Context(), campaign.ActionFilter{})
		if err != nil || len(actions) != want {
			t.Errorf("after %d answers: got the actions %+v, %v; want %d", answers, actions, err, want)
		}
	}
}

// A number with two scopes is not divided: its page alone may be longer.
func TestAPageOfSuppressionsEndsAtItsLimit(t *testing.T) {
	d, _ := session(t)
	numbers := []string{"+2348030000001", "+2348030000002", "+2348030000003", "+2348030000004"}
	if _, err := d.AddSuppressions(t.Context(), numbers, campaign.ScopeAll); err != nil {
		t.Fatal(err)
	}
	if _, err := d.AddSuppressions(t.Context(), numbers[3:], campaign.ScopeMarketing); err != nil {
		t.Fatal(err)
	}
	var got []string
	for after, pages := "", 0; pages == 0 || after != ""; pages++ {
		list, next, err := d.Suppressions(t.Context(), "", after, 2)
		if err != nil || pages > len(numbers) {
			t.Fatalf("page %d behind %q: %v; want 2 pages", pages, after, err)
		}
		var page []string
		for _, s := range list {
			page = append(page, strings.TrimPrefix(s.To, "+234803000000"))
		}
		got = append(got, strings.Join(page, " ")+" next "+next)
		after = next
	}
	if want := []string{"1 2 next " + numbers[1], "3 4 4 next "}; !slices.Equal(got, want) {
		t.Errorf("pages of 2: got %q, want %q", got, want)
	}
}

func TestAnImportListsItsFirst1000Faults(t *testing.T) {
	d, _ := session(t)
	file := "phone\n" + strings.Repeat("none\n", 1001)
	got, err := d.ImportSuppressions(t.Context(), strings.NewReader(file), resource.SuppressionImport{})
	if err != nil || got.Rejected != 1001 || len(got.Faults) != 1000 || got.Faults[999].Line != 1001 {
		t.Errorf("got %d rejected, %d faults, %v; want 1001, of which the first 1000 are listed", got.Rejected, len(got.Faults), err)
	}
}

// folder is a campaigns folder with one campaign every hour, and one file that cannot be read.
func folder(t *testing.T) []operator.File {
	t.Helper()
	cron, err := plan.ParseCron("0 * * * *", "UTC")
	if err != nil {
		t.Fatal(err)
	}
	return []operator.File{{Path: "spring.yaml", Definition: &file.Definition{Name: "spring"}, Cron: cron}, {Path: "broken.yaml"}}
}

func TestAScheduleListsUpTo1000Firings(t *testing.T) {
	d, _ := session(t)
	files := folder(t)
	for _, n := range []int{-1, 0, 1000, 1001} {
		got, err := d.Schedule(t.Context(), files, "", n, 0)
		_, errLast := d.Schedule(t.Context(), files, "", 0, n)
		if n < 0 || n > 1000 {
			if !errors.Is(err, operator.ErrInvalid) || !errors.Is(errLast, operator.ErrInvalid) {
				t.Errorf("next %d: %v, last %d: %v; want faults of the request", n, err, n, errLast)
			}
		} else if err := errors.Join(err, errLast); err != nil || len(got) != n {
			t.Errorf("next and last %d: got %d firings, %v; want all of next", n, len(got), err)
		}
	}
}

// A campaign whose file is broken is found by its runs, however many it has.
func TestAScheduleListsEachPastFiringOnce(t *testing.T) {
	d, _ := session(t)
	nine := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	var want []string
	for _, name := range []string{"spring", "winter"} {
		for hour := range 2 {
			at := nine.Add(time.Duration(hour) * time.Hour)
			key := fmt.Sprint(campaign.FiringKey, name, hour)
			r, err := d.Ledger.CreateRun(t.Context(), campaign.Run{Campaign: name, ListHash: key, Launch: key})
			if err != nil {
				t.Fatal(err)
			}
			f := campaign.Firing{Campaign: name, Key: key, At: at, Since: at, Outcome: campaign.FiringLaunched, Run: r.No}
			if _, err := d.Ledger.NoteFiring(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			want = append(want, r.ID())
		}
	}
	all, err := d.Schedule(t.Context(), folder(t), "", 0, 9)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, f.Run)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got the firings of %q, want those of %q", got, want)
	}
}

func TestANotificationNamesItsRun(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), ledger.Options{Notify: ledgertest.Notify})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &operator.Session{Ledger: l, By: "ann@desk"}
	run := ledgertest.Load(t, l, 1)
	if _, err := l.SetState(t.Context(), run.No, []campaign.State{campaign.Ready}, campaign.Running, "", ""); err != nil {
		t.Fatal(err)
	}
	all, err := d.Notifications(t.Context(), "", 10)
	if err != nil || len(all) == 0 {
		t.Fatalf("got the notifications %+v, %v; want one", all, err)
	}
	for _, n := range all {
		one, err := d.Notification(t.Context(), n.No)
		if err != nil || n.Run != run.ID() || one.Run != run.ID() {
			t.Errorf("%s: got the run %q in the list, %q alone, %v; want %s", n.Kind, n.Run, one.Run, err, run.ID())
		}
	}
}
