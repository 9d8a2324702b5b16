package webhooks

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
)

const appSecret = "app-secret-0123456789abcdef"

// platformIntake takes events of the service, and of the account 1 at the platform.
func platformIntake(t *testing.T, l campaign.EventLedger, marks campaign.Marks) *Intake {
	t.Helper()
	v, err := messaging.NewVerifier(cloud.SignatureForm, messaging.NewSecret(appSecret))
	if err != nil {
		t.Fatal(err)
	}
	i := newIntake(t, l, Options{
		Mark: marks.Read, Foreign: func(connection, account, company string) bool {
			return connection == "300" || connection == "400" || account == "1" || account == "2" || company == "portfolio"
		},
		Platforms: []Platform{{Verifier: v, VerifyTokens: []messaging.Secret{messaging.NewSecret("ours")}, Decode: decodeOf("1")}},
	}, secretText)
	start(t, i)
	return i
}

// decodeOf decodes the events of an account with the number 300. The number 400 is another
// account's, and nobody has listed another.
func decodeOf(account string) func(context.Context, []byte) (cloud.Told, error) {
	return func(_ context.Context, body []byte) (cloud.Told, error) {
		vouched := func(id string) bool { return id == account }
		return cloud.DecodeEvents(body, messaging.OptOut{}, vouched, func(id, _ string) (string, cloud.Standing) {
			switch id {
			case "300":
				return id, cloud.Own
			case "400":
				return "", cloud.Others
			}
			return "", cloud.Unlisted
		})
	}
}

func statusOfAccount(account, mark string) string {
	return fmt.Sprintf(`{"object":"whatsapp_business_account","entry":[{"id":%q,"changes":[{"field":"messages","value":{`+
		`"metadata":{"phone_number_id":"300"},"statuses":[{"id":"wamid.A","status":"sent","timestamp":"%d","recipient_id":"15555550101",`+
		`"biz_opaque_callback_data":%q}]}}]}]}`, account, time.Now().Unix(), mark)
}

// postSigned posts a body with the platform's signature under a secret.
func postSigned(i *Intake, body, secret string) int {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(h.Sum(nil)))
	w := httptest.NewRecorder()
	i.ServeHTTP(w, r)
	return w.Code
}

func TestAMarkOfThePlatformIsRead(t *testing.T) {
	m, marks := &memory{}, campaign.NewMarks("0123456789abcdef", []byte("key"))
	i := platformIntake(t, m, marks)
	want := campaign.Post{Run: 7, Seq: 42, Attempt: 1}
	if code := postSigned(i, statusOfAccount("1", marks.Make(want)), appSecret); code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", code)
	}
	if got := m.all().Statuses; len(got) != 1 || got[0].Mark != want || got[0].Connection != "300" {
		t.Errorf("got %+v, want one status of 300 with the mark %+v", got, want)
	}
}

// A STOP that a person wrote before the number came to the API counts by its own time.
func TestAStopOfTheHistoryIsAnOptOut(t *testing.T) {
	m := &memory{}
	i := platformIntake(t, m, campaign.Marks{})
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"history","value":{` +
		`"metadata":{"phone_number_id":"300"},"history":[{"threads":[{"id":"15555550101","messages":[` +
		`{"from":"15555550101","id":"wamid.H","timestamp":"1780000000","type":"text","text":{"body":"STOP"}},` +
		`{"from":"15555550101","id":"wamid.I","timestamp":"1780000001","type":"text","text":{"body":"ok"}}]}]}]}}]}]}`
	if code := postSigned(i, body, appSecret); code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", code)
	}
	got := m.all()
	if len(got.Suppressions) != 1 || len(got.Replies) != 0 {
		t.Fatalf("got %+v, want one opt-out and no reply", got)
	}
	if s := got.Suppressions[0]; s.Key != 15555550101 || s.Scope != campaign.ScopeMarketing || s.Source != "stop" ||
		s.At.Unix() != 1780000000 || s.Proof.Text != "STOP" || s.Proof.Message != "wamid.H" || s.Proof.Connection != "300" {
		t.Errorf("got %+v, want the STOP of its own time, with its proof", s)
	}
}

// A forged mark is answered 2xx, because the platform's signature is right, and proves nothing.
func TestAForgedMarkProvesNothing(t *testing.T) {
	m, marks := &memory{}, campaign.NewMarks("0123456789abcdef", []byte("key"))
	i := platformIntake(t, m, marks)
	forged := campaign.NewMarks("0123456789abcdef", []byte("other")).Make(campaign.Post{Run: 7, Seq: 42, Attempt: 1})
	if code := postSigned(i, statusOfAccount("1", forged), appSecret); code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", code)
	}
	if got := m.all().Statuses; len(got) != 1 || got[0].Mark != campaign.ForeignMark() || i.Counts().ForeignMarks != 1 {
		t.Errorf("got %+v and %d foreign marks, want one status with a foreign mark, and 1", got, i.Counts().ForeignMarks)
	}
}

func TestASecretVouchesForItsOwnEventsOnly(t *testing.T) {
	m := &memory{}
	i := platformIntake(t, m, campaign.Marks{})
	if code := postSigned(i, statusOfAccount("1", ""), secretText); code != http.StatusUnauthorized {
		t.Errorf("another secret for the account: answered %d, want 401", code)
	}
	// Events that the secret does not vouch for are ignored: of another account, of a number of
	// another account, of no number.
	for _, body := range []string{
		statusOfAccount("2", ""),
		strings.Replace(statusOfAccount("1", ""), `"300"`, `"400"`, 1),
		strings.Replace(statusOfAccount("1", ""), `"metadata":{"phone_number_id":"300"},`, "", 1),
	} {
		if code := postSigned(i, body, appSecret); code != http.StatusNoContent {
			t.Errorf("answered %d to %s, want 204", code, body)
		}
	}
	// The service's own signature does not vouch for a number, an account or a portfolio of the Cloud
	// API.
	for _, body := range []string{statusOfAccount("1", ""),
		`{"type":"message.status","connectionId":"300","data":{"messageId":"wamid.B","status":"sent","to":"+15555550101"}}`,
		`{"type":"account.updated","createdAt":"2026-09-21T14:13:21Z","data":{"companyId":"portfolio","status":"suspended"}}`} {
		if w := post(i, body); w.Code != http.StatusNoContent {
			t.Errorf("answered %d to a signed event of the service, want 204", w.Code)
		}
	}
	if got := m.all(); got.Len() != 0 || i.Counts().Ignored != 6 {
		t.Errorf("stored %+v and ignored %d, want nothing and 6", got, i.Counts().Ignored)
	}
}

func TestIgnoredEventsAreNamedAndBounded(t *testing.T) {
	var log strings.Builder
	var g ignored
	at := time.Now()
	for n := range 1000 {
		g.add(slog.New(slog.NewTextHandler(&log, nil)), at, []string{fmt.Sprint("number ", n), "number 0"})
	}
	lines := strings.Count(log.String(), "\n")
	if !strings.Contains(log.String(), "number 150") || lines > maxNamed+1 || g.n.Load() != 2000 {
		t.Errorf("got %d lines and counted %d; want at most %d, the first names in them, and 2000", lines, g.n.Load(), maxNamed+1)
	}
}

// An event about a number that no listing has yet comes again; what else its body has is stored.
func TestAnUnlistedNumberIsAskedForFirst(t *testing.T) {
	m := &memory{}
	i := platformIntake(t, m, campaign.Marks{})
	known := statusOfAccount("1", "")
	unlisted := strings.Replace(known, `"300"`, `"500"`, 1)
	both := strings.Replace(known, `"entry":[`, `"entry":[`+unlisted[strings.Index(unlisted, `[`)+1:len(unlisted)-2]+`,`, 1)
	for _, body := range []string{unlisted, both} {
		if code := postSigned(i, body, appSecret); code != http.StatusServiceUnavailable {
			t.Errorf("answered %d to %s, want 503", code, body)
		}
	}
	if got, n := m.all().Statuses, i.Counts().Rejected[RejectedUnlisted]; len(got) != 1 || got[0].Connection != "300" || n != 2 {
		t.Errorf("stored %+v, and %d were answered 503; want one status of 300, and 2", got, n)
	}
}

// The ledger knows of the platform's events what it knows of the service's: when one was verified
// last, and how many were refused.
func TestEventsOfThePlatformAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := &memory{}, messaging.NewSecret(appSecret)
		v, err := messaging.NewVerifier(cloud.SignatureForm, r)
		if err != nil {
			t.Fatal(err)
		}
		i, err := New(m, nil, Options{Log: slog.New(slog.DiscardHandler), Platforms: []Platform{{Verifier: v, Decode: decodeOf("1")}}})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, i)
		told := func() (string, bool) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			return wording.Refused(m.signed, time.Now())
		}
		postSigned(i, `{"object":"page"}`, appSecret)
		postSigned(i, statusOfAccount("1", ""), secretText)
		postSigned(i, statusOfAccount("2", ""), appSecret) // ignored: the app vouches for another account
		if got, none := told(); !none || m.signed.Apps != 1 || !strings.HasPrefix(got, "1 event with a wrong signature") {
			t.Errorf("got %q (none verified: %v) and %+v, want one event refused and none verified", got, none, m.signed)
		}
		before := time.Now()
		postSigned(i, statusOfAccount("1", ""), appSecret)
		if got, _ := told(); got != "" || m.signed.Verified[reception.AppSecret(r.Fingerprint())].Before(before) {
			t.Errorf("got %q and %+v, want an event verified with the app's secret, and the fault mended", got, m.signed)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheChallengeNeedsTheVerifyToken(t *testing.T) {
	i := platformIntake(t, &memory{}, campaign.Marks{})
	ask := func(mode, token, challenge string) (int, string) {
		q := url.Values{"hub.mode": {mode}, "hub.verify_token": {token}, "hub.challenge": {challenge}}
		w := httptest.NewRecorder()
		i.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?"+q.Encode(), nil))
		return w.Code, w.Body.String()
	}
	if code, body := ask("subscribe", "ours", "1158201444"); code != http.StatusOK || body != "1158201444" {
		t.Errorf("got %d %q, want 200 with the challenge", code, body)
	}
	for _, c := range [][3]string{{"subscribe", "theirs", "1"}, {"subscribe", "", "1"}, {"unsubscribe", "ours", "1"},
		{"subscribe", "ours", ""}, {"subscribe", "ours", "<script>\n"}, {"subscribe", "ours", strings.Repeat("1", 257)}} {
		if code, body := ask(c[0], c[1], c[2]); code != http.StatusForbidden || body != "" {
			t.Errorf("%q: got %d %q, want 403 without a body", c, code, body)
		}
	}
	plain := newIntake(t, &memory{}, Options{}, secretText)
	w := httptest.NewRecorder()
	plain.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?hub.mode=subscribe", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("answered %d to a GET without the Cloud API, want 405", w.Code)
	}
}

func TestAnIntakeOfThePlatformAloneNeedsNoVerifier(t *testing.T) {
	if _, err := New(&memory{}, nil, Options{}); err == nil {
		t.Error("got no error without any secret, want one")
	}
	i, err := New(&memory{}, nil, Options{Platforms: []Platform{{Decode: decodeOf("1")}}})
	if err != nil {
		t.Fatal(err)
	}
	start(t, i)
	if w := post(i, status(1, "sent", time.Now())); w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d to an event of the service, want 401", w.Code)
	}
}
