package daemon

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
)

func TestAClockIsJudgedByItsDistance(t *testing.T) {
	for skew, want := range map[time.Duration]Health{
		0: HealthOK, -1900 * time.Millisecond: HealthOK, 2 * time.Second: HealthWarn, -59 * time.Second: HealthWarn,
		time.Minute: HealthFail, -time.Hour: HealthFail,
	} {
		if got := clockCheck("clock", "the service's", skew).Health; got != want {
			t.Errorf("%s from the service: got %s, want %s", skew, got, want)
		}
	}
	at := time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)
	if got := skewOf(at.Add(-3*time.Second), at, at.Add(2*time.Second)); got != 4*time.Second {
		t.Errorf("read in the middle of two seconds: got %s ahead, want 4s", got)
	}
}

func TestAnEndpointMustRefuseWhatIsUnsigned(t *testing.T) {
	status := http.StatusUnauthorized
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer s.Close()
	for _, c := range []struct {
		status int
		want   Health
	}{{401, HealthOK}, {200, HealthFail}, {404, HealthFail}, {302, HealthFail}} {
		status = c.status
		if got := reach(t.Context(), "webhooks", s.URL); got.Health != c.want {
			t.Errorf("an endpoint that answers %d: got %+v, want %s", c.status, got, c.want)
		}
	}
	if got := reach(t.Context(), "webhooks", "http://127.0.0.1:0/"); got.Health != HealthWarn {
		t.Errorf("an endpoint that does not answer: got %+v, want warn", got)
	}
}

// The doctor names the runs that go on only when a person acts.
func TestTheDoctorNamesRunsThatWaitForAPerson(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "d.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	run := stored(t, l, "spring", 10)
	if got := checkRuns(t.Context(), l); got != good("runs", "1 run is unfinished, and none waits for a person") {
		t.Errorf("got %+v, want one run that waits for nobody", got)
	}
	if _, err := campaign.PauseRun(t.Context(), l, run); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AddHolds(t.Context(), []campaign.Hold{{Scope: campaign.HoldConnection, ID: "conn_1", Reason: "131031",
		Source: campaign.HoldByRefusal, Since: time.Now(), Latest: time.Now(), Count: 1}}); err != nil {
		t.Fatal(err)
	}
	const want = "1 run is unfinished; spring-1 is paused, connection conn_1 is held (131031)"
	if got := checkRuns(t.Context(), l); got.Health != HealthWarn || got.Detail != want {
		t.Errorf("got %+v, want a warning: %s", got, want)
	}
}
