package notify

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

func TestEachKindHasItsSentence(t *testing.T) {
	run := campaign.Notification{Run: 3, Campaign: "spring", At: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	for kind, want := range map[campaign.NotificationKind]string{
		campaign.NotifyRunStarted:  "spring-3 has started",
		campaign.NotifyRunPaused:   "spring-3 is paused (why): a <b> & c",
		campaign.NotifyRunFinished: "spring-3 has ended: why: a <b> & c (3 accepted, 1 in doubt, 2 sent)",
		campaign.NotifyRunSettled: "spring-3 is settled (3 accepted, 1 in doubt, 2 sent); no event has come about the " +
			"3 accepted ones, so nobody knows " +
			"whether they were delivered",
		campaign.NotifyApproval:       "spring-3 waits for approval: `campaignd approve spring-3`",
		campaign.NotifyHold:           "a <b> & c",
		campaign.NotifyBreaker:        "a breaker tripped: a <b> & c",
		campaign.NotifyDropRejected:   "the file inbox/a.csv was rejected: a <b> & c",
		campaign.NotifyScheduleMissed: "a firing of spring was not launched (why): a <b> & c",
	} {
		n := run
		n.Kind, n.Subject, n.Reason, n.Detail = kind, "inbox/a.csv", "why", "a <b> & c"
		var totals map[string]int64
		if kind == campaign.NotifyRunFinished || kind == campaign.NotifyRunSettled {
			totals = map[string]int64{"accepted": 3, "sent": 2, "in_doubt": 1}
		}
		text, err := body(Slack, n, totals)
		escaped := strings.NewReplacer("&", `\u0026amp;`, "<", `\u0026lt;`, ">", `\u0026gt;`).Replace(want)
		if err != nil || text != `{"text":"`+escaped+`"}` {
			t.Errorf("%s: got %s, %v; want %s", kind, text, err, escaped)
		}
		text, err = body(Standard, n, totals)
		if err != nil || !strings.HasPrefix(text, `{"type":"`+string(kind)+`","timestamp":"2026-03-02T09:00:00Z","data":{"text":"`) {
			t.Errorf("%s: got %s, %v; want type, timestamp and data", kind, text, err)
		}
	}
}

// The example of https://docs.svix.com/receiving/verifying-payloads/how-manual.
func TestTheSignatureIsThatOfStandardWebhooks(t *testing.T) {
	key, err := keyOf(messaging.NewSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	sign(h, [][]byte{key, key}, "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`, time.Unix(1614265330, 0))
	const one = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	if got, want := h.Get("webhook-signature"), one+" "+one; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if h.Get("webhook-id") != "msg_p5jXN8AQM9LWM0D4loKWxJek" || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("got %v, want the id and the time", h)
	}
}

// secretOf is a signing secret of so many bytes.
func secretOf(bytes int) messaging.Secret {
	return messaging.NewSecret("whsec_" + base64.StdEncoding.EncodeToString(make([]byte, bytes)))
}

func TestADestinationAtFaultIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Destination)
		want   string // "": no fault
	}{
		"as it should be":   {func(*Destination) {}, ""},
		"this machine":      {func(d *Destination) { d.URL = messaging.NewSecret("http://127.0.0.1:9/x") }, ""},
		"slack":             {func(d *Destination) { d.Format, d.Secrets = Slack, nil }, ""},
		"http elsewhere":    {func(d *Destination) { d.URL = messaging.NewSecret("http://10.0.0.1/hush") }, "url: http is for this machine"},
		"no address":        {func(d *Destination) { d.URL = messaging.NewSecret("hush") }, "url: want an address"},
		"a file":            {func(d *Destination) { d.URL = messaging.NewSecret("file:///hush") }, "url: want an address"},
		"a user":            {func(d *Destination) { d.URL = messaging.NewSecret("https://a:hush@x.example") }, "url: want an address"},
		"an unknown format": {func(d *Destination) { d.Format = "teams" }, `format: "teams" is unknown`},
		"a signed slack":    {func(d *Destination) { d.Format = Slack }, "secrets: format slack is not signed"},
		"no secret":         {func(d *Destination) { d.Secrets = nil }, "secrets: none"},
		"a short secret":    {func(d *Destination) { d.Secrets[0] = messaging.NewSecret("whsec_aHVzaA==") }, "secrets[0]: it has 4 bytes"},
		"a plain secret":    {func(d *Destination) { d.Secrets[0] = messaging.NewSecret("hush") }, "secrets[0]: want whsec_"},
		"an unknown event": {func(d *Destination) { d.Events = []string{"run.paused", "run.late"} },
			`events[1]: "run.late" is unknown; give run.`},
		"64 bytes": {func(d *Destination) { d.Secrets[0] = secretOf(64) }, ""},
		"65 bytes": {func(d *Destination) { d.Secrets[0] = secretOf(65) }, "secrets[0]: it has 65 bytes"},
		"24 bytes": {func(d *Destination) { d.Secrets[0] = secretOf(24) }, ""},
		"23 bytes": {func(d *Destination) { d.Secrets[0] = secretOf(23) }, "secrets[0]: it has 23 bytes"},
	} {
		d := destination("ops")
		c.change(&d)
		switch err := d.Check(); {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%s: got %v, want no word of the secret", name, err)
		}
	}
}
