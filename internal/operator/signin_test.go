package operator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/operator"
)

// process is one over the ledger of a session, with a key of the scope read.
func process(t *testing.T) (p *operator.Process, id, secret string) {
	t.Helper()
	d, _ := session(t)
	k, err := d.CreateKey(t.Context(), "desk", "read", "comp_1", "")
	if err != nil {
		t.Fatal(err)
	}
	return &operator.Process{Session: *d, Guard: operator.NewGuard("local", d.Ledger)}, k.ID, k.Secret
}

// visitor returns who a session belongs to, as a text.
func visitor(t *testing.T, p *operator.Process, secret string) string {
	t.Helper()
	who, err := p.Visitor(t.Context(), secret)
	switch {
	case errors.Is(err, operator.ErrUnauthorized):
		return "nobody"
	case err != nil:
		t.Fatal(err)
	}
	return fmt.Sprint(who.By, " ", who.Scope, " ", who.Company)
}

func TestASessionIsItsKeysAndEndsWithIt(t *testing.T) {
	p, id, secret := process(t)
	var sessions [2]string
	for i := range sessions {
		var err error
		if sessions[i], err = p.SignIn(t.Context(), "192.0.2.1:1", secret); err != nil {
			t.Fatal(err)
		}
	}
	if sessions[0] == sessions[1] || strings.Contains(secret, sessions[0]) {
		t.Error("got one secret for two sessions, or a part of the key; want two random ones")
	}
	want := "key " + id + " (desk) read comp_1"
	if got := visitor(t, p, sessions[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, none := range []string{"", sessions[0][1:], sessions[0] + "0", strings.Repeat("0", 64), secret} {
		if got := visitor(t, p, none); got != "nobody" {
			t.Errorf("%.10q: got %s, want nobody", none, got)
		}
	}
	if err := p.SignOut(t.Context(), sessions[0]); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"nobody", want} {
		if got := visitor(t, p, sessions[i]); got != want {
			t.Errorf("session %d after the sign-out of 0: got %s, want %s", i, got, want)
		}
	}
	if all, err := p.Session.Browsers(t.Context()); err != nil || len(all) != 1 || len(all[0].ID) != 8 {
		t.Errorf("got %+v (%v), want one session", all, err)
	}
	if _, err := p.Session.RevokeKey(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got := visitor(t, p, sessions[1]); got != "nobody" {
		t.Errorf("after the key was revoked: got %s, want nobody", got)
	}
	if all, err := p.Session.Browsers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("after the key was revoked: got %+v (%v), want no session", all, err)
	}
	if _, err := p.SignIn(t.Context(), "192.0.2.1:1", secret); !errors.Is(err, operator.ErrUnauthorized) {
		t.Errorf("a revoked key: got %v, want ErrUnauthorized", err)
	}
}

// The ledger's clock is the process's, so the test stores sessions of the past.
func TestASessionEndsAfterItsTime(t *testing.T) {
	p, id, secret := process(t)
	for name, tt := range map[string]struct {
		began, seen time.Duration
		want        string
	}{
		"in use":      {11 * time.Hour, 59 * time.Minute, "key " + id + " (desk) read comp_1"},
		"idle":        {2 * time.Hour, operator.SessionIdle, "nobody"},
		"of 12 hours": {operator.SessionFor, time.Minute, "nobody"},
	} {
		s, err := p.SignIn(t.Context(), "192.0.2.1:1", secret)
		if err != nil {
			t.Fatal(err)
		}
		all, err := p.Session.Ledger.Sessions(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v (%v), want one session", all, err)
		}
		old, err := p.Session.Ledger.TakeSession(t.Context(), all[0].Hash)
		if err != nil {
			t.Fatal(err)
		}
		old.CreatedAt, old.SeenAt = time.Now().Add(-tt.began), time.Now().Add(-tt.seen)
		if err := p.Session.Ledger.AddSession(t.Context(), old, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if got := visitor(t, p, s); got != tt.want {
			t.Errorf("%s: got %s, want %s", name, got, tt.want)
		}
		if err := p.SignOut(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATokenOfTheConsoleWorksOnce(t *testing.T) {
	p, _, _ := process(t)
	token, err := p.Session.ConsoleToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := visitor(t, p, token); got != "nobody" {
		t.Errorf("the token as a session: got %s, want nobody", got)
	}
	s, err := p.SignInOnce(t.Context(), "192.0.2.1:1", token)
	if got := visitor(t, p, s); err != nil || got != "ann@desk admin " {
		t.Errorf("got %s (%v), want ann@desk with the scope admin", got, err)
	}
	for _, wrong := range []string{token, s, ""} {
		if _, err := p.SignInOnce(t.Context(), "192.0.2.1:1", wrong); !errors.Is(err, operator.ErrUnauthorized) {
			t.Errorf("%.8q: got %v, want ErrUnauthorized", wrong, err)
		}
	}
	late, err := p.Session.ConsoleToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Session.Ledger.Sessions(t.Context())
	at := slices.IndexFunc(all, func(s campaign.BrowserSession) bool { return s.Once })
	if err != nil || at < 0 {
		t.Fatalf("got %+v (%v), want the token among them", all, err)
	}
	old, err := p.Session.Ledger.TakeSession(t.Context(), all[at].Hash)
	if err != nil {
		t.Fatal(err)
	}
	old.CreatedAt = old.CreatedAt.Add(-time.Minute)
	if err := p.Session.Ledger.AddSession(t.Context(), old, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.SignInOnce(t.Context(), "192.0.2.1:1", late); !errors.Is(err, operator.ErrUnauthorized) {
		t.Errorf("after a minute: got %v, want ErrUnauthorized", err)
	}
	actions, err := p.Session.Actions(t.Context(), campaign.ActionFilter{Limit: 5})
	if err != nil || actions[0].What != "console sign-in" || actions[0].By != "ann@desk" {
		t.Errorf("got the actions %+v (%v), want the sign-in of ann@desk first", actions, err)
	}
}

func TestWrongKeysOfTheConsoleCountWithTheAPIs(t *testing.T) {
	p, _, secret := process(t)
	for i := range operator.WrongBurst {
		var err error
		if i%2 == 0 {
			_, err = p.SignIn(t.Context(), "192.0.2.1:1", "x")
		} else {
			_, err = p.SignInOnce(t.Context(), "192.0.2.1:2", "x")
		}
		if !errors.Is(err, operator.ErrUnauthorized) {
			t.Fatalf("wrong key %d: got %v, want ErrUnauthorized", i, err)
		}
	}
	wrong := secret[:len(secret)-1] + "_"
	_, api := p.Guard.Admit(t.Context(), "192.0.2.1:3", wrong)
	_, key := p.SignIn(t.Context(), "192.0.2.1:3", wrong)
	_, token := p.SignInOnce(t.Context(), "192.0.2.1:3", "x")
	for what, err := range map[string]error{"the API": api, "a key": key, "a token": token} {
		if !errors.Is(err, operator.ErrTooMany) {
			t.Errorf("a wrong one at %s after them: got %v, want ErrTooMany", what, err)
		}
	}
}

// Behind a proxy everybody has one address, and this process has seen no key yet.
func TestARightKeyIsNeverRefused(t *testing.T) {
	p, _, secret := process(t)
	for range operator.WrongBurst {
		_, _ = p.SignIn(t.Context(), "192.0.2.1:1", "x")
	}
	var flood sync.WaitGroup
	for range 50 {
		flood.Go(func() { _, _ = p.Guard.Admit(t.Context(), "192.0.2.1:1", "x") })
	}
	token, err := p.Session.ConsoleToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, once := p.SignInOnce(t.Context(), "192.0.2.1:1", token)
	_, key := p.SignIn(t.Context(), "192.0.2.1:1", secret)
	_, api := p.Guard.Admit(t.Context(), "192.0.2.1:1", secret)
	for what, err := range map[string]error{"the API": api, "a key": key, "a token": once} {
		if err != nil {
			t.Errorf("a right one at %s beside many wrong keys: got %v, want no error", what, err)
		}
	}
	flood.Wait()
}
