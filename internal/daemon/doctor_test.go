package daemon

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
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
