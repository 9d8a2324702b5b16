package webhooks

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

func TestNothingIsParsedBeforeTheSignatureHolds(t *testing.T) {
	i := newIntake(t, &memory{}, Options{Decode: func([]byte) ([]messaging.Event, error) {
		t.Error("an unverified body was decoded")
		return nil, nil
	}})
	start(t, i)
	body := status(1, "sent", time.Now())
	for n := range len(body) { // one byte is changed
		r := request(body, secretText)
		r.Body = io.NopCloser(strings.NewReader(body[:n] + string(body[n]^1) + body[n+1:]))
		if w := serve(i, r); w.Code != http.StatusUnauthorized {
			t.Fatalf("byte %d changed: answered %d, want 401", n, w.Code)
		}
	}
	r := request(body, secretText) // the same JSON, written with other white space
	r.Body = io.NopCloser(strings.NewReader(strings.Replace(body, ",", ", ", 1)))
	if w := serve(i, r); w.Code != http.StatusUnauthorized {
		t.Errorf("re-serialised: answered %d, want 401", w.Code)
	}
	r = request(body, secretText)
	r.Header.Set("X-Service-Signature", r.Header.Get("X-Service-Signature")[:62])
	if w := serve(i, r); w.Code != http.StatusUnauthorized {
		t.Errorf("signature cut: answered %d, want 401", w.Code)
	}
}

func TestAWrongSecretIsLoggedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		secrets []string // one for each webhook that comes
		lines   int
	}{
		"wrong from the start":   {[]string{strings.Repeat("z", 32), strings.Repeat("z", 32), ""}, 1},
		"a forger among others":  {[]string{secretText, strings.Repeat("z", 32), ""}, 1},
		"right from the outset":  {[]string{secretText, secretText}, 0},
		"a forger is the first":  {[]string{"", secretText, strings.Repeat("z", 32)}, 1},
		"nobody has called here": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			i := newIntake(t, &memory{}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			stop := start(t, i)
			for n, secret := range c.secrets {
				serve(i, request(status(n, "sent", time.Now()), secret))
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			if got := strings.Count(log.String(), "webhooks.secrets"); got != c.lines {
				t.Errorf("%d lines about secrets, want %d:\n%s", got, c.lines, &log)
			}
		})
	}
}

// A signed body that cannot be decoded is lost unless the operator acts. The log says so, without
// the text of the body.
func TestASignedBodyThatCannotBeReadIsInTheLog(t *testing.T) {
	var log strings.Builder
	m := &memory{}
	i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Decode: func([]byte) ([]messaging.Event, error) {
		return nil, errors.New("no event of +15555550101")
	}})
	start(t, i)
	if w := post(i, `{"a":"+15555550101"}`); w.Code != http.StatusBadRequest || len(m.all().Statuses) != 0 {
		t.Errorf("answered %d, want 400 and nothing stored", w.Code)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") ||
		!strings.Contains(got, "no event of +1555•••0101") || !strings.Contains(got, "bytes=20") {
		t.Errorf("the log says %s, want one warning with the reason, masked, and 20 bytes", got)
	}
}

func TestBothSecretsHoldWhileOneIsRotated(t *testing.T) {
	older, newer := strings.Repeat("o", 32), strings.Repeat("n", 32)
	m := &memory{}
	i := newIntake(t, m, Options{}, newer, older)
	start(t, i)
	for n, secret := range []string{older, newer} {
		if w := serve(i, request(status(n, "sent", time.Now()), secret)); w.Code != http.StatusNoContent {
			t.Errorf("secret %d: answered %d, want 204", n, w.Code)
		}
	}
	if got := len(m.all().Statuses); got != 2 {
		t.Errorf("%d statuses stored, want 2", got)
	}
}

func TestAnIntakeNeedsASecretAndALedger(t *testing.T) {
	if _, err := New(&memory{}, nil, Options{}); err == nil {
		t.Error("got an intake without secrets, want an error")
	}
	if _, err := New(nil, &messaging.Verifier{}, Options{}); err == nil {
		t.Error("got an intake without a ledger, want an error")
	}
	for name, o := range map[string]Options{
		"Sweep": {Sweep: -1}, "SweepJitter": {SweepJitter: -1},
	} {
		if _, err := New(&memory{}, &messaging.Verifier{}, o); err == nil || !strings.Contains(err.Error(), "Options."+name) {
			t.Errorf("%s: %v, want an error that names it", name, err)
		}
	}
}
