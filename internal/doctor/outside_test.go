package doctor

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
	"campaignd/throttle/redistest"
)

func TestACertificateIsJudgedByItsTime(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		from, until time.Duration // from now
		want        Health
	}{
		{-time.Hour, 7 * 24 * time.Hour, HealthOK}, {-time.Hour, 7*24*time.Hour - time.Second, HealthWarn},
		{-time.Hour, time.Second, HealthWarn}, {-time.Hour, 0, HealthFail}, {-time.Hour, -time.Second, HealthFail},
		{time.Second, 90 * 24 * time.Hour, HealthFail},
	} {
		if got := certificateCheck("listen.public_tls", now.Add(tt.from), now.Add(tt.until), now); got.Health != tt.want {
			t.Errorf("valid from %s until %s from now: got %+v, want %s", tt.from, tt.until, got, tt.want)
		}
	}
	said := "that of listen.public_tls expired at 2026-03-02T11:00:00Z" // not masked as a phone number
	if got := certificateCheck("listen.public_tls", now.Add(-2*time.Hour), now.Add(-time.Hour), now); got.Detail != said {
		t.Errorf("an expired certificate: got %q, want %q", got.Detail, said)
	}
	none := &config.Config{Listen: config.Listen{PublicTLS: config.TLS{Certificate: "none.pem", Key: "none.key"}}}
	if got := checkCertificates(t.Context(), none); len(got) != 1 || got[0].Health != HealthFail {
		t.Errorf("files that do not exist: got %+v, want one %s", got, HealthFail)
	}
	if got := checkCertificates(t.Context(), &config.Config{}); len(got) != 0 {
		t.Errorf("no TLS: got %+v, want no check", got)
	}
}

// An address is asked without a notification, and no part of it but the host is shown.
func TestAnAddressOfNotificationsMustRespond(t *testing.T) {
	status := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			t.Errorf("got a %s, want HEAD alone", r.Method)
		}
		w.WriteHeader(status)
	}))
	look := func() Check {
		t.Helper()
		all := checkNotifications(t.Context(), &config.Config{Notifications: map[string]config.Notification{
			"ops": {URL: messaging.NewSecret(s.URL + "/T0/hush")}}})
		if len(all) != 1 || strings.Contains(all[0].Detail+all[0].Remedy, "hush") {
			t.Fatalf("got %+v, want one check without the secret path", all)
		}
		return all[0]
	}
	for code, want := range map[int]Health{200: HealthOK, 405: HealthOK, 400: HealthOK, 501: HealthOK, 302: HealthOK,
		404: HealthWarn, 410: HealthWarn, 500: HealthWarn, 503: HealthWarn} {
		status = code
		if got := look(); got.Health != want {
			t.Errorf("an address that answers %d: got %+v, want %s", code, got, want)
		}
	}
	s.Close()
	if got := look(); got.Health != HealthFail || !strings.Contains(got.Detail, "does not respond") {
		t.Errorf("an address where nothing listens: got %+v, want %s", got, HealthFail)
	}
}

// Redis is asked what sending asks: PING and INFO of a replica or a restricted user are answered.
func TestTheDoctorRunsTheScriptsOfTheLimiter(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	cluster := redistest.Start(t, "--cluster-enabled", "yes", "--databases", "1")
	host, port, _ := strings.Cut(master.Addr, ":")
	replica.Do("REPLICAOF", host, port)
	master.Do("ACL", "SETUSER", "one", "on", ">x", "~{n:conn_1*", "~{c:conn_1*", "~{n:/*", "~{c:/*", "+@all")
	for _, tt := range []struct {
		about, url, number string
		want               Health
		said               string
	}{
		{"a master", master.URL(0), "conn_2", HealthOK, "version "},
		{"a replica", replica.URL(0), "conn_2", HealthFail, "it is a replica: give the address of the master"},
		{"a cluster", cluster.URL(0), "conn_2", HealthFail, "it is a node of a Redis cluster"},
		{"keys of the number", "redis://one:x@" + master.Addr, "conn_1", HealthOK, "version "},
		{"keys of another number", "redis://one:x@" + master.Addr, "conn_2", HealthFail, "its user may not do that"},
	} {
		cfg := &config.Config{Redis: tt.url, Numbers: map[string]config.Number{tt.number: {}}}
		if got := checkRedis(t.Context(), cfg); len(got) != 1 || got[0].Health != tt.want || !strings.Contains(got[0].Detail, tt.said) {
			t.Errorf("%s: got %+v, want %s %q", tt.about, got, tt.want, tt.said)
		}
	}
}

func TestABrokenCampaignFileIsAFailure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "odd.yaml"), []byte("name: odd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkCampaigns(t.Context(), &config.Config{Campaigns: dir}); len(got) != 1 || got[0].Health != HealthFail {
		t.Errorf("got %+v, want one %s", got, HealthFail)
	}
}
