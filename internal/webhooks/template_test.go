package webhooks

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

// The events are those of the platform's reference, and QUALITY and CATEGORY, which our decoder
// makes out of two other notices.
func TestEveryTemplateEventIsToldAndCounted(t *testing.T) {
	const (
		goesOn  = `level=INFO msg="template can be sent"`
		waits   = `level=WARN msg="template cannot be sent; it is held until it is approved, unless that was later than this event"`
		ends    = `level=WARN msg="template cannot be sent; it is held until an operator lifts it"`
		nothing = `level=WARN msg="template event that holds nothing"`
	)
	effects := map[string]string{goesOn: "resumes", waits: "pauses", ends: "ends", nothing: "noted"}
	for event, line := range map[string]string{
		"APPROVED": goesOn, "REINSTATED": goesOn, "UNPAUSED": goesOn, "UNPAUSE": goesOn, "UNARCHIVED": goesOn,
		"PAUSED": waits, "PENDING": waits, "IN_APPEAL": waits, "REJECTED": waits, "ARCHIVED": waits,
		"DISABLED": ends, "PENDING_DELETION": ends, "DELETED": ends,
		"FLAGGED": nothing, "LOCKED": nothing, "LIMIT_EXCEEDED": nothing,
		"QUALITY": nothing, "CATEGORY": nothing, "NEVER_HEARD_OF": nothing,
	} {
		t.Run(event, func(t *testing.T) {
			var log bytes.Buffer
			e, c := folded(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))},
				`{"type":"template.status","connectionId":"conn_1","createdAt":"2026-09-21T12:00:00Z","data":`+
					`{"name":"promo","language":"en-US","event":"`+
					strings.ToLower(event)+`","reason":"WHY"}}`)
			var holds, lifts int
			switch {
			case line == goesOn:
				lifts = 2 // of this account, and of an account that is not known
			case line != nothing:
				holds = 1
			}
			for _, h := range e.Holds {
				if want := campaign.TemplateID("", "promo", "en_US"); h.Reason != event || !strings.HasSuffix(h.ID, want) {
					t.Errorf("holds %+v; want %s for %s", h, want, event)
				}
			}
			if len(e.Holds) != holds || len(e.Lifts) != lifts {
				t.Errorf("%d holds and %d lifts, want %d and %d", len(e.Holds), len(e.Lifts), holds, lifts)
			}
			want := line + " template=promo language=en_US event=" + event + " reason=WHY at=2026-09-21T12:00:00.000Z\n"
			if !strings.HasSuffix(log.String(), want) || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("the log says\n%s\nwant one line, ending in\n%s", log.String(), want)
			}
			for effect, n := range c.Templates {
				if want := map[bool]uint64{true: 1}[effect == effects[line]]; n != want {
					t.Errorf("counted %d as %q, want %d", n, effect, want)
				}
			}
			if got, want := len(c.Templates), 4; got != want {
				t.Errorf("%d effects are counted, want %d", got, want)
			}
		})
	}
}

// PostgreSQL stores no NUL. One such event must not keep a whole batch out of the ledger.
func TestATemplateNamedWithNULIsOnlyTold(t *testing.T) {
	for _, member := range []string{`"name":"a\u0000","language":"en"`, `"name":"a","language":"en\u0000"`} {
		e, c := folded(t, Options{}, `{"type":"template.status","data":{`+member+`,"event":"PAUSED"}}`)
		if len(e.Holds) != 0 || c.Templates["noted"] != 1 {
			t.Errorf("%s: holds %v, counted %v; want none, one noted", member, e.Holds, c.Templates)
		}
	}
}

// The name of a template is cut to 512 characters in the log. The ledger gets it whole.
func TestALongTemplateNameIsCutInTheLogAlone(t *testing.T) {
	for length, want := range map[int]int{511: 511, 512: 512, 513: 512} {
		var log bytes.Buffer
		name := strings.Repeat("n", length)
		e, _ := folded(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))},
			`{"type":"template.status","data":{"name":"`+name+`","event":"PAUSED"}}`)
		if len(e.Holds) != 1 || e.Holds[0].ID != campaign.TemplateID("", name, "") {
			t.Errorf("%d bytes: holds %v, want one of the whole name", length, e.Holds)
		}
		if !strings.Contains(log.String(), "template="+name[:want]+" ") {
			t.Errorf("%d bytes: the log says %s, want %d bytes of the name", length, &log, want)
		}
	}
}

// An approval over the Cloud API ends no hold that the service began without an account.
func TestAnApprovalOfThePlatformIsOfItsAccount(t *testing.T) {
	m := &memory{}
	i := platformIntake(t, m, campaign.Marks{})
	body := fmt.Sprintf(`{"object":"whatsapp_business_account","entry":[{"id":"1","time":%d,"changes":[{"field":`+
		`"message_template_status_update","value":{"event":"APPROVED","message_template_name":"sale","message_template_language":"en"}}]}]}`,
		time.Now().Unix())
	if code := postSigned(i, body, appSecret); code != http.StatusNoContent {
		t.Fatalf("answered %d, want 204", code)
	}
	if got := m.all().Lifts; len(got) != 1 || got[0].ID != campaign.TemplateID("1", "sale", "en") {
		t.Errorf("lifted %+v, want the template of account 1 alone", got)
	}
}
