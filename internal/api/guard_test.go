package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite/sqlitetest"
	"campaignd/internal/operator"
)

// session opens a new ledger.
func session(t testing.TB) *operator.Session {
	t.Helper()
	l := sqlitetest.Open(t, ledger.Options{Notify: func(campaign.NotificationKind) []string { return []string{"ops"} }})
	return &operator.Session{Ledger: l, By: "test"}
}

// asks returns the status and the caller of a request with a header Authorization.
func asks(t *testing.T, g *operator.Guard, header, address string) (int, operator.Caller) {
	t.Helper()
	s := &Server{process: operator.Process{Guard: g}, ctx: t.Context()}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", header)
	r.RemoteAddr = address + ":1"
	who, err := s.admit(t.Context(), r)
	if err == nil {
		return http.StatusOK, who
	}
	return errorOf(s.ctx, err).Status, who
}

func TestOnlyAKeyInForceIsAdmitted(t *testing.T) {
	d := session(t)
	k, err := d.CreateKey(t.Context(), "ci", "operate", "comp_1", "")
	if err != nil {
		t.Fatal(err)
	}
	g := operator.NewGuard("local", d.Ledger)
	flipped := k.Secret[:len(k.Secret)-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(k.Secret, "0")]
	other, err := d.CreateKey(t.Context(), "other", "read", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, header string
		want         int
	}{
		{"no key", "", 401}, {"the secret alone", k.Secret, 401}, {"another scheme", "Basic " + k.Secret, 401},
		{"one character changed", "Bearer " + flipped, 401}, {"the id alone", "Bearer cpd_" + k.ID, 401},
		{"the id with another secret", "Bearer cpd_" + k.ID + other.Secret[12:], 401},
		{"the key", "Bearer " + k.Secret, 200}, {"the local key", "Bearer local", 200},
		{"the scheme in lower case", "bearer " + k.Secret, 200}, {"the local key in upper case", "BEARER  local", 200},
	} {
		if got, _ := asks(t, g, tt.header, "192.0.2.1"); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
	_, who := asks(t, g, "Bearer "+k.Secret, "192.0.2.1")
	if want := (operator.Caller{By: "key " + k.ID + " (ci)", ByKey: true, Scope: campaign.KeyOperate, Company: "comp_1"}); who != want {
		t.Errorf("got the caller %+v, want %+v", who, want)
	}
	if _, err := d.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	if got, _ := asks(t, g, "Bearer "+k.Secret, "192.0.2.2"); got != 401 {
		t.Errorf("a revoked key: got %d, want 401", got)
	}
}

// fakeKeys are keys without a database, which a bubble of virtual time could not wait for.
type fakeKeys []campaign.OperatorKey

func (f fakeKeys) Key(_ context.Context, id string) (campaign.OperatorKey, error) {
	for _, k := range f {
		if k.ID == id {
			return k, nil
		}
	}
	return campaign.OperatorKey{}, campaign.ErrNoKey
}

// A probe without a key, or a browser with another scheme, guesses nothing.
func TestARequestWithoutAKeyCostsNoAttempt(t *testing.T) {
	d := session(t)
	k, err := d.CreateKey(t.Context(), "ci", "read", "", "")
	if err != nil {
		t.Fatal(err)
	}
	g := operator.NewGuard("local", d.Ledger)
	for range 3 * operator.WrongBurst {
		for _, header := range []string{"", "Basic dXNlcjpwYXNz", "Bearer", "Bearer  "} {
			if got, _ := asks(t, g, header, "192.0.2.1"); got != 401 {
				t.Fatalf("%q: got %d, want 401", header, got)
			}
		}
	}
	if got, _ := asks(t, g, "Bearer "+k.Secret, "192.0.2.1"); got != 200 {
		t.Errorf("a right key after them: got %d, want 200", got)
	}
}

func TestWrongKeysOfAnAddressAreLimited(t *testing.T) {
	d := session(t)
	good, err := d.CreateKey(t.Context(), "ci", "read", "", "")
	if err != nil {
		t.Fatal(err)
	}
	late, err := d.CreateKey(t.Context(), "late", "read", "", "")
	if err != nil {
		t.Fatal(err)
	}
	var keys []campaign.OperatorKey
	for _, id := range []string{good.ID, late.ID} {
		k, err := d.Ledger.Key(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	synctest.Test(t, func(t *testing.T) {
		g := operator.NewGuard("", fakeKeys(keys))
		if got, _ := asks(t, g, "Bearer "+good.Secret, "192.0.2.1"); got != 200 {
			t.Fatalf("the key: got %d, want 200", got)
		}
		var statuses []int
		for range operator.WrongBurst + 2 {
			got, _ := asks(t, g, "Bearer x", "192.0.2.1")
			statuses = append(statuses, got)
		}
		if statuses[operator.WrongBurst-1] != 401 || statuses[operator.WrongBurst] != 429 {
			t.Errorf("wrong keys: got %v, want 401 for %d of them, then 429", statuses, operator.WrongBurst)
		}
		for _, tt := range []struct {
			name, secret, address string
			want                  int
		}{
			{"a key that was right before", good.Secret, "192.0.2.1", 200}, {"a key that was not", late.Secret, "192.0.2.1", 200},
			{"a wrong one at another address", "z", "192.0.2.9", 401}, {"a wrong one", "z", "192.0.2.1", 429},
		} {
			if got, _ := asks(t, g, "Bearer "+tt.secret, tt.address); got != tt.want {
				t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
			}
		}
		began := time.Now()
		var flood sync.WaitGroup
		for range 100 {
			flood.Go(func() {
				if got, _ := asks(t, g, "Bearer z", "192.0.2.1"); got != 429 {
					t.Errorf("one of many wrong keys: got %d, want 429", got)
				}
			})
		}
		flood.Wait()
		if took := time.Since(began); took != operator.WrongWait {
			t.Errorf("many wrong keys at once took %v, want %v: some are late, and none waits for another", took, operator.WrongWait)
		}
		time.Sleep(operator.WrongRefill + time.Second)
		if got, _ := asks(t, g, "Bearer y", "192.0.2.1"); got != 401 {
			t.Errorf("after %v: got %d, want 401", operator.WrongRefill, got)
		}
	})
}
