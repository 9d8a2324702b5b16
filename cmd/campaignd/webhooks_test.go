package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// endpoints lists what is registered.
func (d *fixture) endpoints() (all []endpointFacts) {
	d.t.Helper()
	if err := json.Unmarshal([]byte(d.want(0, "webhooks", "list", "-o", "json").stdout), &all); err != nil {
		d.t.Fatal(err)
	}
	return all
}

func TestAnEndpointIsRegisteredAndRemoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t, func(o *sandbox.Options) { o.WebhookURL = "" })
	const url = "https://hooks.example/webhooks/messaging"
	secret := strings.TrimSpace(d.want(0, "webhooks", "register", url, "--event", "message.status").stdout)
	if n := len(secret); n < messaging.MinSecret {
		t.Errorf("got a secret of %d bytes on standard output, want %d or more", n, messaging.MinSecret)
	}
	file := d.write("secrets.txt", "an older secret")
	if out := d.want(0, "webhooks", "register", url, "--secret-file", file).stdout; out != "" {
		t.Errorf("got %q on standard output with --secret-file, want nothing", out)
	}
	kept, err := os.ReadFile(file)
	if lines := strings.Split(string(kept), "\n"); err != nil || len(lines) != 3 || lines[0] != "an older secret" || len(lines[1]) < 16 {
		t.Errorf("got the file %q, %v; want the older secret and a new one", kept, err)
	}
	all := d.endpoints()
	if len(all) != 2 || all[0].URL != url || len(all[0].Events) != 1 || all[0].Secret != "" {
		t.Fatalf("got %+v, want two endpoints without secrets, the first with one event", all)
	}
	d.want(0, "webhooks", "remove", all[0].ID)
	if left := d.endpoints(); len(left) != 1 || left[0].ID != all[1].ID {
		t.Errorf("got %+v, want the second endpoint alone", left)
	}
	d.oneLineOf(2, []string{"--secret-file", "name a file in a folder that exists"},
		"webhooks", "register", url, "--secret-file", d.path("none/secrets.txt"))
	if left := d.endpoints(); len(left) != 1 {
		t.Errorf("got %+v after a registration whose secret could not be kept, want no new endpoint", left)
	}
	d.want(2, "webhooks", "remove", all[0].ID)
	d.want(1, "webhooks", "register", "http://hooks.example/plain")
	d.want(2, "webhooks", "rotate", "whk_99")
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + freePort(t)
	d.oneLineOf(1, []string{"not_connected", "check service.base_url"}, "webhooks", "list")
}

func TestAReplayIsAskedFor(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	d.want(0, "run", d.path("c.yaml"), "--recipients", d.path("list.csv"))
	var told struct{ Deliveries int64 }
	r := d.want(0, "webhooks", "replay", "--since", "1h", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &told); err != nil || told.Deliveries < 40 {
		t.Errorf("got %s, %v; want one status or more of each of 40 messages", r.stdout, err)
	}
	wantIn(t, "without --since", d.want(2, "webhooks", "replay").stderr, "--since is missing: give a time such as")
	d.want(2, "webhooks", "replay", "--since", "1h", "--until", "2h")
	d.env["CAMPAIGND_SERVICE_ASSUMED_PATHS_WEBHOOK_REPLAY"] = "/api/v1/elsewhere"
	d.env["CAMPAIGND_SERVICE_ASSUMED_PATHS_WEBHOOK_REPLAY_ONE"] = "/api/v1/elsewhere/{id}"
	wantIn(t, "a service without it", d.want(1, "webhooks", "replay", "--since", "1h").stderr, "offers no replay")
}
