//go:build long

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// docs/operations.md#a-new-signing-secret has the same steps.
func TestASecretIsRotatedWithoutAGap(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	step := func(what, secrets string, tests, code int) {
		t.Helper()
		d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = secrets
		stop := d.serving()
		defer stop()
		before := d.accepted()
		d.want(0, "launch", d.path("c.yaml"), "--recipients", d.path("list.csv"), "--new")
		d.eventually(what+": every message is read", func() bool {
			return d.accepted() == before+40 && d.report("latest").Totals["read"] == 40
		})
		d.eventually(what+": the test ends", func() bool { return d.run("webhooks", "test").code == code })
		r := d.want(code, "webhooks", "test")
		if n := strings.Count(r.stdout, "204 No Content"); n != tests {
			t.Errorf("%s: %d tests were taken, want %d:\n%s", what, n, tests, r.stdout)
		}
	}
	step("before", sandbox.DemoSecret, 1, 0)
	old := d.endpoints()[0].ID
	var next endpointFacts
	if err := json.Unmarshal([]byte(d.want(0, "webhooks", "rotate", old, "-o", "json").stdout), &next); err != nil {
		t.Fatal(err)
	}
	both := sandbox.DemoSecret + "," + next.Secret
	step("registered, not configured yet", sandbox.DemoSecret, 1, 1)
	step("both secrets", both, 2, 0)
	d.want(0, "webhooks", "remove", old)
	step("the old endpoint removed", both, 2, 0)
	step("the new secret alone", next.Secret, 1, 0)
	d.env["CAMPAIGND_WEBHOOKS_SECRETS"] = both
	d.want(1, "webhooks", "test") // nothing serves
}
