package operator_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

// session opens a new ledger, and returns its path too.
func session(t *testing.T) (*operator.Session, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := sqlite.Open(t.Context(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &operator.Session{Ledger: l, By: "ann@desk"}, path
}

func TestTheLedgerHasNoUsableKey(t *testing.T) {
	d, path := session(t)
	k, err := d.CreateKey(t.Context(), "ci", "operate", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Ledger.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("got the files %v (%v), want those of a ledger", files, err)
	}
	secret := strings.TrimPrefix(k.Secret, "cpd_"+k.ID+"_")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{k.Secret, secret, secret[:16]} {
			if bytes.Contains(text, []byte(part)) {
				t.Errorf("%s contains %d characters of the secret, want none", filepath.Base(f), len(part))
			}
		}
	}
}

func TestAFaultyKeyIsNotMade(t *testing.T) {
	d, _ := session(t)
	for _, tt := range []struct{ name, scope, company string }{
		{"", "read", ""}, {strings.Repeat("x", 101), "read", ""}, {"ci", "write", ""}, {"ci", "", ""}, {"ci", "admin", "comp_1"},
	} {
		if _, err := d.CreateKey(t.Context(), tt.name, tt.scope, tt.company, ""); !errors.Is(err, operator.ErrInvalid) {
			t.Errorf("%+v: got %v, want a fault of the request", tt, err)
		}
	}
	keys, err := d.Keys(t.Context())
	actions, errActions := d.Actions(t.Context(), campaign.ActionFilter{})
	if err := errors.Join(err, errActions); err != nil || len(keys)+len(actions) > 0 {
		t.Errorf("got %d keys, %d actions, %v; want none", len(keys), len(actions), err)
	}
}

// late finds no key the first time, as if another request made it a moment later.
type late struct {
	campaign.Ledger
	asked bool
}

func (l *late) Key(ctx context.Context, id string) (campaign.OperatorKey, error) {
	if !l.asked {
		l.asked = true
		return campaign.OperatorKey{}, campaign.ErrNoKey
	}
	return l.Ledger.Key(ctx, id)
}

func TestTwoRequestsAtOnceMakeOneKey(t *testing.T) {
	d, _ := session(t)
	if _, err := d.CreateKey(t.Context(), "ci", "read", "", "monday"); err != nil {
		t.Fatal(err)
	}
	d.Ledger = &late{Ledger: d.Ledger}
	if _, err := d.CreateKey(t.Context(), "ci", "read", "", "monday"); !errors.Is(err, operator.ErrRepeated) {
		t.Errorf("the second request: got %v, want %v", err, operator.ErrRepeated)
	}
}

func TestAScopeIncludesThoseBeforeIt(t *testing.T) {
	for i, scope := range campaign.KeyScopes {
		for j, need := range campaign.KeyScopes {
			if got := scope.Allows(need); got != (i >= j) {
				t.Errorf("%s allows %s: got %v, want %v", scope, need, got, i >= j)
			}
		}
	}
	if campaign.KeyScope("root").Allows(campaign.KeyRead) || campaign.KeyAdmin.Allows("root") {
		t.Error("an unknown scope: got allowed, want refused")
	}
}

func TestEachActionIsInTheLog(t *testing.T) {
	d, _ := session(t)
	k, err := d.CreateKey(t.Context(), "ci", "read", "comp_1", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.RevokeKey(t.Context(), "00000000"); !errors.Is(err, campaign.ErrNoKey) {
		t.Errorf("a key that is not there: got %v, want %v", err, campaign.ErrNoKey)
	}
	actions, err := d.Actions(t.Context(), campaign.ActionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, a := range actions {
		got[a.What] = a.By + " " + a.On + " " + a.Detail
	}
	want := map[string]string{"keys create": "ann@desk " + k.ID + " ci, scope read, company comp_1", "keys revoke": "ann@desk " + k.ID + " ci"}
	for what := range want {
		if got[what] != want[what] {
			t.Errorf("%s: got %q, want %q", what, got[what], want[what])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got the actions %v, want %d", got, len(want))
	}
}
