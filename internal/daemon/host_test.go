package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A page of a stranger cannot read the admin listener by pointing its own name to it.
func TestTheAdminListenerChecksTheHost(t *testing.T) {
	h := guardHost(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }),
		[]string{"Campaignd.example"})
	for host, want := range map[string]int{
		"127.0.0.1:8081": 202, "[::1]:8081": 202, "::1": 202, "10.2.3.4": 202, "localhost:8081": 202, "a.localhost": 202,
		"campaignd": 202, "": 202, "host.docker.internal:8081": 202,
		"campaignd.jobs.svc:8081": 202, "campaignd.jobs.svc.cluster.local.": 202, "campaignd.example:443": 202, "CAMPAIGND.EXAMPLE": 202,
		"evil.example:8081": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "svc.evil.example": 421,
		"x.campaignd.example": 421, "evilcampaignd.example": 421,
	} {
		for _, path := range []string{"/metrics", "/readyz", "/api/v1/runs"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want || want == 421 && !strings.Contains(w.Body.String(), "listen.admin_hosts") {
				t.Errorf("%s for %q: got %d %s, want %d", path, host, w.Code, w.Body, want)
			}
		}
	}
}
