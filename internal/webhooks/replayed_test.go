package webhooks

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/campaign/reception"
)

// Deliveries of the lost time are counted once they are taken, within the time of a note, and those
// that the ledger did not count are not forgotten.
func TestTakenDeliveriesOfAReplayAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		now := time.Now()
		lost := reception.LostTime{At: now.Add(-time.Minute), Since: now.Add(-time.Hour), Asked: now, Deliveries: 4}
		older := reception.LostTime{At: now.Add(-time.Hour), Since: now.Add(-2 * time.Hour), Asked: now.Add(-time.Hour), Deliveries: 1, Came: 1}
		m := &memory{lost: []reception.LostTime{lost, older}}
		i := newIntake(t, m, Options{})
		stop := start(t, i)
		post := func(event time.Time, secret string, want int) {
			t.Helper()
			if got := serve(i, request(status(1, "sent", event), secret)).Code; got != want {
				t.Errorf("an event of %s: got %d, want %d", event, got, want)
			}
		}
		count := func(what string, want int64) {
			t.Helper()
			time.Sleep(2 * reception.ListenEvery)
			synctest.Wait()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.lost[0].Came != want || m.lost[1].Came != 1 {
				t.Errorf("%s: got %d and %d deliveries, want %d and 1", what, m.lost[0].Came, m.lost[1].Came, want)
			}
		}
		post(now.Add(-30*time.Minute), secretText, http.StatusNoContent)
		post(now.Add(-90*time.Minute), secretText, http.StatusNoContent) // of before
		post(now.Add(-30*time.Minute), "another-secret-0123456789abcdef", http.StatusUnauthorized)
		if got := serve(i, request(`{"id": "t", "type": "webhook.test", "data": {}}`, secretText)).Code; got != http.StatusNoContent {
			t.Errorf("our own test event: got %d, want 204", got)
		}
		count("one of the lost time", 1)
		post(time.Now(), secretText, http.StatusNoContent) // nothing that was lost
		count("one of today", 1)
		m.mu.Lock()
		m.fail = errors.New("away")
		m.mu.Unlock()
		post(now.Add(-20*time.Minute), secretText, http.StatusServiceUnavailable)
		i.replayed.took(nil, time.Now())
		count("what was not taken", 1)
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		post(now.Add(-20*time.Minute), secretText, http.StatusNoContent)
		m.mu.Lock()
		m.fail = errors.New("away") // it is taken, and the note fails
		m.mu.Unlock()
		count("the ledger is away", 1)
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		count("it is back", 2)
		post(now.Add(-10*time.Minute), secretText, http.StatusNoContent)
		if err := stop(); err != nil {
			t.Error(err)
		}
		count("the last ones, at the end", 3)
	})
}
