package commerce

import (
	"encoding/hex"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/secret"
)

const anEvent = `{"id":"01J9","type":"order.created","created_at":"2026-03-01T10:00:00Z","company_id":"` + acme + `","data":{"id":"o"}}`

var signing = secret.New("event-secret-0123456789")

func signatureOf(s secret.Value, body string) string {
	return hex.EncodeToString(hmacOf(s, []byte(body)))
}

// The log has one line with the remedy for each kind of refusal, however many are refused.
func TestOnlySignedEventsAreTaken(t *testing.T) {
	old := secret.New("event-secret-of-before")
	var log strings.Builder
	intake := NewIntake(Assumed{}, acme, []secret.Value{signing, old}, slog.New(slog.NewTextHandler(&log, nil)), forget)
	for _, test := range []struct {
		body, signature string
		want            int
	}{
		{anEvent, signatureOf(signing, anEvent), 204},
		{anEvent, strings.ToUpper(signatureOf(signing, anEvent)), 204},
		{anEvent, signatureOf(old, anEvent), 204},
		{anEvent, signatureOf(secret.New("another"), anEvent), 401},
		{anEvent, signatureOf(secret.Value{}, anEvent), 401},
		{anEvent, "", 401},
		{anEvent, "sha256=" + signatureOf(signing, anEvent), 401},
		{anEvent, signatureOf(signing, anEvent)[:62], 401},
		{anEvent + " ", signatureOf(signing, anEvent), 401},
		{"", signatureOf(signing, ""), 400},
		{"[]", signatureOf(signing, "[]"), 400},
		{`{"id":"1"}`, signatureOf(signing, `{"id":"1"}`), 400},
		{strings.ReplaceAll(anEvent, acme, "OTHER"), signatureOf(signing, strings.ReplaceAll(anEvent, acme, "OTHER")), 403},
		{strings.Repeat(" ", maxEvent) + anEvent, signatureOf(signing, strings.Repeat(" ", maxEvent)+anEvent), 413},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(test.body))
		if test.signature != "" {
			r.Header.Set("X-Commerce-Signature", test.signature)
		}
		w := httptest.NewRecorder()
		intake.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%.60q with %q: got %d, want %d", test.body, test.signature, w.Code, test.want)
		}
	}
	want := map[string]int64{"taken": 3, "unsigned": 6, "invalid": 4, "other_company": 1, "unstored": 0}
	if got := intake.Counts(); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	told := log.String()
	for _, remedy := range []string{"compare them with the platform's", "compare it with docs/commerce.md#events", "take this address out"} {
		if strings.Count(told, remedy) != 1 {
			t.Errorf("the log has %q %d times, want once in %s", remedy, strings.Count(told, remedy), told)
		}
	}
	if strings.Contains(told, "OTHER") {
		t.Errorf("got a word of a refused event in the log, want none: %s", told)
	}
}

func TestSecretsOfEventsAreRenewed(t *testing.T) {
	intake := NewIntake(Assumed{SignatureHeader: "X-Sig"}, acme, nil, slog.New(slog.DiscardHandler), forget)
	post := func(method string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/", strings.NewReader(anEvent))
		r.Header.Set("X-Sig", signatureOf(signing, anEvent))
		w := httptest.NewRecorder()
		intake.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, w.Body)
		return w.Code
	}
	before := post(http.MethodPost)
	intake.Renew([]secret.Value{signing})
	if after, get := post(http.MethodPost), post(http.MethodGet); before != 401 || after != 204 || get != 405 {
		t.Errorf("got %d without a secret, %d with it, %d for GET; want 401, 204, 405", before, after, get)
	}
}
