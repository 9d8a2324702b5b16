package webhooks

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/postgres"
	"campaignd/internal/ledger/sqlite"
)

// onLedger opens a ledger of SQLite in the folder, with an intake that posts to it. close closes
// both.
func onLedger(t *testing.T, folder string) (l campaign.Ledger, post200 func(bodies ...string), closeBoth func()) {
	t.Helper()
	l, err := ledger.Open(t.Context(), "sqlite:"+filepath.Join(folder, "campaignd.db"), ledger.Options{Sender: true}, sqlite.Open,
		postgres.Open)
	if err != nil {
		t.Fatal(err)
	}
	i := newIntake(t, l, Options{})
	stop := start(t, i)
	return l, func(bodies ...string) {
			t.Helper()
			for _, body := range bodies {
				if w := post(i, body); w.Code != http.StatusNoContent {
					t.Fatalf("answered %d to %s, want 204", w.Code, body)
				}
			}
		}, func() {
			t.Helper()
			if err := stop(); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
}

// A resume that is dated ahead counts from its first receipt, also when it is delivered again, and
// after a restart. One that is far ahead ends nothing.
func TestAStopIsNeverLiftedFromTheFuture(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	number := func(n int) string { return fmt.Sprintf("1555555%04d", n) }
	resume := func(n int, own time.Time) string {
		return fmt.Sprintf(`{"type":"preference.updated","connectionId":"conn_1","data":{"wa_id":%q,"value":"resume","timestamp":%d}}`,
			number(n), own.Unix())
	}
	l, take, done := onLedger(t, folder)
	suppressed := func(n int) bool {
		t.Helper()
		all, err := l.SuppressionsOf(t.Context(), 15555550000+int64(n))
		if err != nil {
			t.Fatal(err)
		}
		return len(all) > 0
	}
	began := time.Now()
	ahead := []time.Duration{6 * time.Second, time.Minute, 4 * time.Minute, 3 * time.Hour}
	for n, d := range ahead {
		take(resume(n, began.Add(d)), inbound("+"+number(n), "STOP", time.Now()), resume(n, began.Add(d)))
		if !suppressed(n) {
			t.Errorf("a resume %v ahead, a STOP and the same resume: not suppressed, want suppressed", d)
		}
	}
	done()
	l, take, done = onLedger(t, folder)
	defer func() { done() }()
	for n, d := range ahead {
		take(resume(n, began.Add(d)))
		if !suppressed(n) {
			t.Errorf("a resume %v ahead, once more after a restart: not suppressed, want suppressed", d)
		}
	}
	// A resume that is newer than the STOP lifts it, and far ahead ends nothing.
	take(inbound("+"+number(8), "STOP", began.Add(-time.Minute)), inbound("+"+number(9), "STOP", began.Add(-time.Minute)),
		resume(8, began.Add(4*time.Minute)), resume(9, began.Add(6*time.Minute)))
	if got, want := [2]bool{suppressed(8), suppressed(9)}, [2]bool{false, true}; got != want {
		t.Errorf("suppressed after resumes 4 and 6 minutes ahead: %v, want %v", got, want)
	}
}

// An event from the future ends the holds of before its receipt, and no later one, however often it
// is delivered.
func TestAReplayFromTheFutureEndsNoLaterHold(t *testing.T) {
	t.Parallel()
	l, take, done := onLedger(t, t.TempDir())
	defer done()
	now := time.Now()
	for _, c := range []struct{ what, lifts, holds string }{
		{"number", `{"type":"number.updated","connectionId":"conn_1","createdAt":%q,"data":{"status":"CONNECTED"}}`,
			`{"type":"number.updated","connectionId":"conn_1","createdAt":%q,"data":{"status":"DISCONNECTED"}}`},
		{"template",
			`{"type":"template.status","connectionId":"conn_1","createdAt":%q,"data":{"name":"promo","language":"en","event":"APPROVED"}}`,
			`{"type":"template.status","connectionId":"conn_1","createdAt":%q,"data":{"name":"promo","language":"en","event":"PAUSED"}}`},
		{"account", `{"type":"account.updated","connectionId":"conn_1","createdAt":%q,"data":{"status":"ACTIVE"}}`,
			`{"type":"account.updated","connectionId":"conn_1","createdAt":%q,"data":{"status":"SUSPENDED"}}`},
	} {
		held := func() int {
			t.Helper()
			hs, err := l.Holds(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			return len(hs)
		}
		event := func(form string, at time.Time) { t.Helper(); take(fmt.Sprintf(form, at.Format(time.RFC3339Nano))) }
		event(c.holds, now.Add(-time.Minute))
		event(c.lifts, now.Add(4*time.Minute))
		if n := held(); n != 0 {
			t.Errorf("%s: %d holds after a lift 4 minutes ahead, want none", c.what, n)
		}
		event(c.holds, time.Now())
		for range 2 {
			event(c.lifts, now.Add(4*time.Minute))
		}
		event(c.lifts, now.Add(3*time.Hour))
		if n := held(); n != 1 {
			t.Errorf("%s: %d holds after a later hold and replays of lifts from the future, want 1", c.what, n)
		}
		event(c.lifts, time.Now())
		if n := held(); n != 0 {
			t.Errorf("%s: %d holds after a lift of now, want none", c.what, n)
		}
	}
}
