package audience_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/audience"
	"campaignd/internal/commerce"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/secret"
)

// imports is a ledger whose runs are being imported.
type imports []campaign.Run

func (*imports) PaymentLink(context.Context, string, string) (string, error) { return "", nil }
func (*imports) StorePaymentLink(_ context.Context, l campaign.PaymentLink) (string, error) {
	return l.URL, nil
}

func (r *imports) Runs(context.Context, campaign.RunFilter) ([]campaign.Run, error) { return *r, nil }

func (w *world) lists(folder string, ledger audience.Ledger) *audience.Lists {
	return audience.NewLists(folder, func() (*commerce.Client, error) {
		return commerce.New(commerce.Options{BaseURL: w.url, Company: scenario.DemoCompany, APIKey: secret.New(scenario.DemoKey), Rate: 1000})
	}, ledger, slog.New(slog.DiscardHandler))
}

// filesIn returns the files below a folder, without locks.
func filesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "lock" {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestAListStaysWhileItIsNeeded(t *testing.T) {
	w, folder, runs := newWorld(t), filepath.Join(t.TempDir(), "lists"), &imports{}
	d, err := file.Parse("c.yaml", []byte(
		"name: winback\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en}\naudience: {from: customers}\n"))
	if err != nil {
		t.Fatal(err)
	}
	l := w.lists(folder, runs)
	sweeps := func(when string, wantKept int64, want ...string) {
		t.Helper()
		kept, err := w.lists(folder, runs).Sweep(t.Context()) // of another process
		if got := filesIn(t, folder); kept != wantKept || err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %d lists and %v, files %q; want %d and %q", when, kept, err, got, wantKept, want)
		}
	}
	sweeps("before the first list", 0)
	made, err := l.Make(t.Context(), d, nil)
	if err != nil || made.Customers != 2 {
		t.Fatalf("got %+v and %v, want a list of 2 customers", made, err)
	}
	sweeps("while a process has it", 1, "winback.csv")
	for _, dir := range []string{"audience-8", "audience-9"} { // of killed processes
		dir = filepath.Join(folder, dir)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "old.csv"), []byte("+237"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	*runs = imports{{State: campaign.Importing, ListName: filepath.Join(folder, "audience-8", "old.csv")}}
	sweeps("while a run is imported from one", 2, "old.csv", "winback.csv")
	*runs = imports{{State: campaign.Ready, ListName: filepath.Join(folder, "audience-8", "old.csv")}}
	sweeps("when it is imported", 1, "winback.csv")
	if err := made.Remove(); err != nil {
		t.Fatal(err)
	}
	sweeps("after its removal", 0)
}
