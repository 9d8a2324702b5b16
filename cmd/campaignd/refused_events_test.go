//go:build long

package main

import (
	"strings"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/sandbox"
)

// While events are refused for their signature, no check says ok: doctor, why, report, the metric
// and `webhooks test`, whose own events are taken. A half-done rotation is told too, and the
// endpoint that works is not removed.
func TestNoCheckIsOkOverRefusedEvents(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	const refused = "with a wrong signature refused since "
	right, wrong := sandbox.DemoSecret, "another-secret-0123456789abcdef"
	launch := func() {
		t.Helper()
		before := d.accepted()
		d.want(0, "launch", d.path("c.yaml"), "--recipients", d.path("list.csv"), "--new")
		d.eventually("the messages are accepted", func() bool { return d.accepted() == before+40 })
		d.eventually("the run has ended", func() bool { // --new refuses the list of an unfinished run
			runs := d.run("runs", "-o", "json").stdout
			return !strings.Contains(runs, `"ready"`) && !strings.Contains(runs, `"running"`)
		})
	}
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = wrong
	stop := d.serving()
	launch()
	d.eventually("the doctor fails", func() bool {
		r := d.run("doctor", "-o", "json")
		return r.code == 1 && strings.Contains(r.stdout, refused) && strings.Contains(r.stdout, "none verified after the last")
	})
	stop()
	stop = d.serving()
	r := d.want(1, "webhooks", "test")
	wantIn(t, "webhooks test", r.stdout+r.stderr, "204 No Content", refused, "not that the service signs with one of them")
	wantIn(t, "why", d.want(0, "why", "latest").stdout, "webhooks: ", refused)
	wantIn(t, "report", d.want(0, "report", "latest").stdout, refused)
	wantIn(t, "report in JSON", d.want(0, "report", "latest", "--format", "json").stdout, `"refused_events": "`)
	access, err := client.ReadAccess(d.path("campaignd.db.api"))
	if err != nil {
		t.Fatal(err)
	}
	if metrics := d.scraped(access.URL + "/metrics"); !strings.Contains(metrics, "\ncampaignd_webhooks_refused ") ||
		strings.Contains(metrics, "\ncampaignd_webhooks_refused 0\n") {
		t.Errorf("got no metric of refused events above 0 in\n%s", metrics)
	}
	stop()

	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = right
	stop = d.serving()
	launch()
	old := d.endpoints()[0].ID
	d.want(0, "webhooks", "rotate", old)
	launch()
	d.eventually("the doctor warns of the half-done rotation", func() bool {
		r := d.run("doctor", "-o", "json")
		return r.code == 0 && strings.Contains(r.stdout, "half-done")
	})
	d.oneLineOf(1, []string{old + " may be the only endpoint whose events are verified", "--force"}, "webhooks", "remove", old)
	next := d.endpoints()[1].ID
	d.want(0, "webhooks", "remove", next)
	d.oneLineOf(1, []string{old + " may be the only endpoint"}, "webhooks", "remove", old)
	d.want(0, "webhooks", "remove", old, "--force")
	stop()
}
