package webhooks

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign/wording"
	"campaignd/internal/messaging"
)

// Wrong signatures are in the ledger within a minute, with one write a minute however many come. A
// request without a signature counts for nothing, and our own test event proves nothing.
func TestWrongSignaturesAreNotedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var replays []time.Time
		m := &memory{}
		i := newIntake(t, m, Options{Log: slog.New(slog.NewTextHandler(&log, nil)),
			Replay: func(since time.Time) { replays = append(replays, since) }})
		stop := start(t, i)
		began := time.Now().UTC()
		for range 600 {
			serve(i, request(status(1, "sent", time.Now()), "")) // unsigned: a stranger, or the doctor
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if m.notes != 0 || m.signed.Count != 0 {
			t.Errorf("unsigned requests: got %d notes and %d refused, want none", m.notes, m.signed.Count)
		}
		first := time.Now().UTC()
		for range 600 {
			serve(i, request(status(1, "sent", time.Now()), "another-secret-0123456789abcdef"))
			serve(i, request(`{"id": "test_1", "type": "webhook.test", "data": {}}`, secretText))
			time.Sleep(time.Second)
			synctest.Wait()
			if m.signed.Count == 0 && time.Since(first) > time.Minute {
				t.Fatal("got no refusal in the ledger within a minute, want it")
			}
		}
		refused, none := wording.Refused(m.signed, time.Now())
		if m.notes < 9 || m.notes > 16 || !none || m.signed.Count < 550 || !strings.Contains(refused, "a stranger") {
			t.Errorf("600 wrong signatures in 10 minutes: got %d notes, %d refused, %q; want a note a minute and nearly all", m.notes,
				m.signed.Count, refused)
		}
		if n := strings.Count(log.String(), "with a wrong signature refused since"); n != 1 {
			t.Errorf("got %d lines of refusals, want 1:\n%s", n, log.String())
		}
		if len(replays) > 0 {
			t.Errorf("got replays since %v while nothing was verified, want none", replays)
		}
		for range 1300 {
			serve(i, request(status(1, "sent", time.Now()), secretText))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if len(replays) != 1 || replays[0].Before(first) || replays[0].After(first.Add(time.Second)) {
			t.Errorf("after events were verified: got replays since %v, want one since %v (begun %v)", replays, first, began)
		}
		if refused, _ := wording.Refused(m.signed, time.Now()); refused != "" || !strings.Contains(log.String(), "no event is refused") {
			t.Errorf("20 minutes later: got %q, want it mended and said:\n%s", refused, log.String())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The probe of the doctor does not use up the warning of a missing signature, and that one not the
// warning of a wrong one.
func TestEachCauseOfARefusalIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		i := newIntake(t, &memory{}, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := start(t, i)
		lines := func(when string, unsigned, wrong int) {
			t.Helper()
			time.Sleep(time.Minute)
			synctest.Wait()
			if u, w := strings.Count(log.String(), "without a signature"),
				strings.Count(log.String(), "with a wrong signature"); u != unsigned || w != wrong {
				t.Errorf("%s: got %d and %d lines, want %d and %d:\n%s", when, u, w, unsigned, wrong, log.String())
			}
		}
		serve(i, request("{}", ""))
		lines("the doctor's probe", 0, 0)
		for range 3 {
			serve(i, request(status(1, "sent", time.Now()), ""))
		}
		lines("no signature", 1, 0)
		for range 3 {
			serve(i, request(status(1, "sent", time.Now()), "another-secret-0123456789abcdef"))
		}
		lines("a wrong one", 1, 1)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A fingerprint tells two secrets apart and shows neither.
func TestAFingerprintShowsNoSecret(t *testing.T) {
	a, b := messaging.NewSecret(secretText).Fingerprint(), messaging.NewSecret(secretText+"x").Fingerprint()
	if a == b || len(a) != 8 || strings.Contains(secretText, a) {
		t.Errorf("got the fingerprints %q and %q, want two different ones of 8 digits", a, b)
	}
}

// Refusals that the ledger could not take are in its next note, with the first and the last time.
func TestRefusalsOutliveALedgerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{fail: errors.New("no ledger")}
		i := newIntake(t, m, Options{Log: slog.New(slog.DiscardHandler)})
		stop := start(t, i)
		first := time.Now().UTC()
		for range 3 {
			serve(i, request(status(1, "sent", time.Now()), "another-secret-0123456789abcdef"))
			time.Sleep(5 * time.Minute)
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		time.Sleep(2 * time.Minute)
		stop()
		last := first.Add(10 * time.Minute)
		if got := m.signed; got.Count != 3 || !got.Since.Equal(first) || !got.Last.Equal(last) {
			t.Errorf("got %d refused from %v to %v, want 3 from %v to %v", got.Count, got.Since, got.Last, first, last)
		}
	})
}
