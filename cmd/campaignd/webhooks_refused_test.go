package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/internal/client"
	"campaignd/internal/doctor"
	"campaignd/internal/sandbox"
)

// With the Cloud API alone, the doctor sees events that the app's secret does not verify, and those
// that it does.
func TestTheDoctorCountsEventsOfTheCloudAPI(t *testing.T) {
	t.Parallel()
	d := overCloud(t, newFixture(t, func(o *sandbox.Options) {
		o.API, o.WebhookSecret, o.RetrySchedule = sandbox.APICloud, sandbox.CloudAppSecret, slices.Repeat([]time.Duration{time.Second}, 60)
	}))
	check := func(secret, counted string, come func()) doctor.Check {
		t.Helper()
		d.write("app", secret)
		stop := d.serving()
		access, err := client.ReadAccess(d.path("campaignd.db.api"))
		if err != nil {
			t.Fatal(err)
		}
		come()
		d.eventually("an event has come", func() bool {
			metrics := d.scraped(access.URL + "/metrics")
			return strings.Contains(metrics, counted) && !strings.Contains(metrics, counted+"0\n")
		})
		stop() // the end of the process notes what came
		var checks []doctor.Check
		if r := d.run("doctor", "-o", "json"); json.Unmarshal([]byte(r.stdout), &checks) != nil {
			t.Fatalf("got %q, want checks", r.stdout)
		}
		return checks[slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "signatures" })]
	}
	// With another app's secret nothing can be sent, so only another's event comes.
	got := check("another-secret-0123456789abcdef", "\ncampaignd_webhooks_rejected_total{reason=\"signature\"} ", func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+d.public+"/webhooks/messaging", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("got %d, want %d", resp.StatusCode, http.StatusUnauthorized)
		}
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
	})
	if got.Health != doctor.HealthFail || !strings.Contains(got.Remedy, "dashboard of the app") {
		t.Errorf("with another app's secret: got %+v, want a failure whose remedy names the dashboard of the app", got)
	}
	wantIn(t, "with another app's secret", got.Detail, "with a wrong signature refused since ", "app_secret_file of cloud.accounts")
	got = check(sandbox.CloudAppSecret, "\ncampaignd_webhook_last_verified_seconds{connection=\"conn_1\"} ", func() {
		d.run("launch", d.path("c.yaml"))
	})
	wantIn(t, "with the app's own", got.Detail, "no event was refused lately; the last one was verified at ")
}

// scraped is the text at a URL.
func (d *fixture) scraped(url string) string {
	d.t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		d.t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		d.t.Fatal(err)
	}
	return text.String()
}
