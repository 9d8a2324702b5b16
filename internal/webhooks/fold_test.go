package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

var noon = time.Date(2026, 9, 21, 12, 0, 0, 0, time.UTC)

// folded posts the bodies and returns the facts that were stored.
func folded(t *testing.T, o Options, bodies ...string) (campaign.Events, Counts) {
	t.Helper()
	m := &memory{}
	i := newIntake(t, m, o)
	stop := start(t, i)
	for _, b := range bodies {
		if w := post(i, b); w.Code != http.StatusNoContent {
			t.Fatalf("answered %d to %s, want 204", w.Code, b)
		}
	}
	stop()
	return m.all(), i.Counts()
}

func TestAStopIsASuppressionBeforeTheAnswer(t *testing.T) {
	pressed := func(from, what string) string {
		return `{"type":"message.received","data":{"messageId":"wamid.IN","from":"` + from + `","timestamp":1790000000,` + what + `}}`
	}
	e, _ := folded(t, Options{OptOut: messaging.NewOptOut("no_more_offers")},
		inbound("+15555550101", "Stop!", noon),
		inbound("+15555550102", "stop by tomorrow", noon),
		inbound("+15555550103", "arrêt", noon),
		pressed("15555550104", `"type":"button","button":{"payload":"NO_MORE_OFFERS","text":"Not interested"}`),
		pressed("15555550105", `"type":"button","button":{"payload":"more","text":"More offers"}`),
		pressed("15555550106", `"type":"button","button":{"text":"Stop"}`),
		pressed("15555550107", `"type":"interactive","interactive":{"button_reply":{"title":"Stop"}}`),
	)
	press := time.Unix(1790000000, 0).UTC()
	stopped := func(digits, source string, at time.Time, text string) campaign.Suppression {
		key, _ := strconv.ParseInt(digits, 10, 64)
		return campaign.NewSuppression(key, "+"+digits, campaign.ScopeMarketing, source, at).Proven(campaign.Proof{Text: text})
	}
	for n := range e.Suppressions {
		if e.Suppressions[n].Proof.Message == "" {
			t.Errorf("%+v has no message as its proof, want the recipient's", e.Suppressions[n])
		}
		e.Suppressions[n].Proof.Message, e.Suppressions[n].Proof.Connection = "", ""
	}
	want := []campaign.Suppression{
		stopped("15555550101", "stop", noon, "Stop!"),
		stopped("15555550103", "stop", noon, "arrêt"),
		stopped("15555550104", "button", press, "NO_MORE_OFFERS"),
		stopped("15555550106", "button", press, "Stop"),
		stopped("15555550107", "button", press, "Stop"),
	}
	if d := cmp.Diff(want, e.Suppressions); d != "" {
		t.Errorf("suppressions -want +got:\n%s", d)
	}
}

// The form of the platform: the event has no contacts, and the text is for people.
func TestAChangedNumberIsAMove(t *testing.T) {
	moved := func(from, to string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{
			"metadata":{"display_phone_number":"15555550100"},"messages":[{"from":"` + from + `","id":"wamid.S","timestamp":"1790000600",
			"type":"system","system":{"body":"User changed from one number to another","wa_id":"` + to + `","type":"user_changed_number"}}]}}]}]}`
	}
	e, c := folded(t, Options{}, moved("15555550101", "15555550199"), moved("US.1349", "15555550198"))
	want := []campaign.Move{{From: 15555550101, To: 15555550199, FromPhone: "+15555550101", ToPhone: "+15555550199",
		At: time.Unix(1790000600, 0).UTC()}, {FromUser: "US.1349", To: 15555550198, ToPhone: "+15555550198", At: time.Unix(1790000600, 0).UTC()}}
	if d := cmp.Diff(want, e.Moved); d != "" || len(e.Suppressions) != 0 || c.Nobody != 0 {
		t.Errorf("%d suppressions and %d without a number, want none; moves -want +got:\n%s", len(e.Suppressions), c.Nobody, d)
	}
}

func TestAPreferenceStopsAndResumesMarketing(t *testing.T) {
	preference := func(from, value string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"user_preferences","value":{
			"metadata":{"display_phone_number":"15555550100"},
			"user_preferences":[{"wa_id":"` + from + `","category":"marketing_messages","value":"` + value + `","timestamp":1790000600}]}}]}]}`
	}
	e, c := folded(t, Options{}, preference("15555550101", "stop"), preference("15555550102", "resume"), preference("US.1349", "stop"))
	if len(e.Suppressions) != 1 || e.Suppressions[0].Key != 15555550101 || e.Suppressions[0].Source != "user_preferences" {
		t.Errorf("suppressions %+v, want one of 15555550101 by user_preferences", e.Suppressions)
	}
	if len(e.Lifted) != 1 || e.Lifted[0].Key != 15555550102 || e.Lifted[0].Scope != campaign.ScopeMarketing {
		t.Errorf("lifted %+v, want 15555550102 for marketing", e.Lifted)
	}
	if len(e.Wishes) != 1 || e.Wishes[0].UserID != "US.1349" || e.Wishes[0].Resume || e.Wishes[0].Scope != campaign.ScopeMarketing ||
		c.Nobody != 0 {
		t.Errorf("wishes %+v, want a stop of US.1349", e.Wishes)
	}
}

func TestAFailureFeedsTheSuppressions(t *testing.T) {
	failed := func(code string) string {
		return `{"type":"message.status","connectionId":"conn_1","data":{"messageId":"wamid.F` + code +
			`","status":"failed","timestamp":1790000000,"to":"+15555550101","error":{"code":` + code + `}}}`
	}
	at := time.Unix(1790000000, 0).UTC()
	e, _ := folded(t, Options{}, failed("131050"), failed("131026"), failed("131049"), failed("131031"))
	want := []campaign.Suppression{
		{Key: 15555550101, To: "+15555550101", Scope: campaign.ScopeMarketing, Source: "failed:131050", At: at,
			Proof: campaign.Proof{Source: "failed:131050", At: at, Connection: "conn_1", Message: "wamid.F131050"}},
		{Key: 15555550101, To: "+15555550101", Scope: campaign.ScopeUnreachable, Source: "failed:131026", At: at, Until: at.AddDate(0, 0, 90),
			Proof: campaign.Proof{Source: "failed:131026", At: at, Connection: "conn_1", Message: "wamid.F131026"}},
	}
	if d := cmp.Diff(want, e.Suppressions); d != "" {
		t.Errorf("suppressions -want +got:\n%s", d)
	}
	if len(e.Statuses) != 4 || e.Statuses[2].Code != "131049" || e.Statuses[2].Status != campaign.Failed {
		t.Errorf("statuses %+v, want 4, the third failed with 131049", e.Statuses)
	}
	for n, got := range e.Statuses {
		if want := int64(15555550101); got.Recipient != want || got.Connection != "conn_1" {
			t.Errorf("status %d is of %d on %q, want %d on conn_1", n, got.Recipient, got.Connection, want)
		}
	}
	if len(e.Holds) != 0 { // the ledger writes the hold of 131031 when it finds the message
		t.Errorf("holds %+v, want none from a status", e.Holds)
	}
	e, _ = folded(t, Options{}, failed("0"), failed("1"), strings.Replace(failed("2"), `"code"`, `"title"`, 1))
	if codes := [3]string{e.Statuses[0].Code, e.Statuses[1].Code, e.Statuses[2].Code}; codes != [3]string{"", "1", ""} {
		t.Errorf("codes of 0, 1 and none = %q, want only 1", codes)
	}
}

func TestAnEventWithoutConnectionFindsItByItsNumber(t *testing.T) {
	body, err := os.ReadFile("../../testdata/wire/webhooks/30_platform_status/body.json")
	if err != nil {
		t.Fatal(err)
	}
	e, c := folded(t, Options{Connections: func(number string) string { return map[string]string{"15555550100": "conn_1"}[number] }},
		string(body))
	if len(e.Statuses) != 1 || e.Statuses[0].Connection != "conn_1" {
		t.Errorf("statuses %+v, want one of conn_1", e.Statuses)
	}
	if _, there := c.Verified["conn_1"]; !there || len(c.Verified) != 1 {
		t.Errorf("verified %v, want conn_1 alone", c.Verified)
	}
}

// Connections is called only for an event that names a number and no connection.
func TestTheNamedConnectionIsNeverAskedFor(t *testing.T) {
	e, c := folded(t, Options{Connections: func(string) string { return "conn_asked" }},
		`{"type":"number.updated","connectionId":"conn_named","data":{"phoneNumber":"+15555550100","status":"banned"}}`,
		`{"type":"number.updated","data":{"phoneNumber":"+15555550100","status":"banned"}}`,
		`{"type":"account.updated","data":{"status":"SUSPENDED"}}`)
	var got []string
	for _, h := range e.Holds {
		got = append(got, string(h.Scope)+" "+h.ID)
	}
	if d := cmp.Diff([]string{"connection conn_named", "connection conn_asked"}, got); d != "" {
		t.Errorf("held -want +got:\n%s", d)
	}
	if len(c.Verified) != 3 {
		t.Errorf("verified %v, want conn_named, conn_asked and none", c.Verified)
	}
}

// A body with every kind of fact is stored whole and counted by its facts.
func TestEveryFactOfABodyIsStoredAndCounted(t *testing.T) {
	preference := func(to, value string) string {
		return `{"type":"preference.updated","data":{"wa_id":"` + to + `","value":"` + value + `","timestamp":1790000000}}`
	}
	facts := []string{status(1, "sent", noon), inbound("+15555550102", "STOP", noon), preference("15555550103", "resume"),
		`{"type":"template.status","data":{"name":"promo","event":"PAUSED"}}`}
	for _, bodies := range [][]string{{"[" + strings.Join(facts, ",") + "]"}, facts} {
		e, c := folded(t, Options{}, bodies...)
		if got, want := [4]int{len(e.Statuses), len(e.Suppressions), len(e.Lifted), len(e.Holds)}, [4]int{1, 1, 1, 1}; got != want {
			t.Errorf("statuses, suppressions, lifted, holds of %d bodies = %v, want %v", len(bodies), got, want)
		}
		if c.CommitsFailed != 0 || c.Waiting != 0 {
			t.Errorf("%d commits failed and %d facts wait of %d bodies, want none", c.CommitsFailed, c.Waiting, len(bodies))
		}
	}
}

// The ledger decides from when an event counts, by its own clock: the clock of this process, which
// may be wrong, bounds no time.
func TestEventsReachTheLedgerWithTheirOwnTimes(t *testing.T) {
	for _, at := range []time.Time{noon, time.Now().Add(4 * time.Minute), time.Now().Add(time.Hour), {}} {
		at = at.Truncate(time.Second)
		stamp := fmt.Sprintf(`,"timestamp":%d`, at.Unix())
		if at.IsZero() {
			stamp = ""
		}
		event := func(kind, data string) string {
			return fmt.Sprintf(`{"type":%q,"connectionId":"conn_1","data":{%s%s}}`, kind, data, stamp)
		}
		e, _ := folded(t, Options{}, event("message.status", `"messageId":"wamid.A","status":"sent"`),
			event("preference.updated", `"wa_id":"15555550103","value":"stop"`),
			event("template.status", `"name":"promo","language":"en","event":"PAUSED"`),
			event("number.updated", `"status":"RESTRICTED"`))
		if len(e.Statuses) != 1 || len(e.Suppressions) != 1 || len(e.Holds) != 2 {
			t.Fatalf("got %d statuses, %d opt-outs and %d holds, want 1, 1 and 2", len(e.Statuses), len(e.Suppressions), len(e.Holds))
		}
		for what, got := range map[string]time.Time{"status": e.Statuses[0].At, "stop": e.Suppressions[0].At, "template": e.Holds[0].Since,
			"number": e.Holds[1].Since} {
			if !got.Equal(at) || !e.Statuses[0].ReceivedAt.IsZero() {
				t.Errorf("%s: got the time %s, received %s; want %s, and no receipt", what, got, e.Statuses[0].ReceivedAt, at)
			}
		}
	}
}

// All webhooks of testdata/wire are taken, and their statuses and suppressions are stored.
func TestTheWebhooksOfTheWireAreStored(t *testing.T) {
	var world struct {
		Secret string `json:"webhook_secret"`
	}
	text, err := os.ReadFile("../../testdata/wire/world.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &world); err != nil || world.Secret == "" {
		t.Fatalf("world.json: %v, secret of %d bytes, want one", err, len(world.Secret))
	}
	cases, err := filepath.Glob("../../testdata/wire/webhooks/*/body.json")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var headers map[string]string
			var want struct {
				Events []struct {
					Kind       string
					OptOut     bool `json:"opt_out"`
					Button     string
					Preference string
				}
			}
			for name, into := range map[string]any{"headers.json": &headers, "events.json": &want} {
				text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
				if err == nil {
					err = json.Unmarshal(text, into)
				}
				if err != nil {
					t.Fatal(name, err)
				}
			}
			m := &memory{}
			i := newIntake(t, m, Options{}, world.Secret)
			start(t, i)
			r := httptest.NewRequest(http.MethodPost, "/webhooks/messaging", strings.NewReader(string(body)))
			for k, v := range headers {
				r.Header.Set(k, v)
			}
			if w := serve(i, r); w.Code != http.StatusNoContent {
				t.Fatalf("answered %d, want 204", w.Code)
			}
			kinds := map[string]uint64{}
			statuses, stops := 0, 0
			for _, e := range want.Events {
				kinds[e.Kind]++
				if e.Kind == "status" {
					statuses++
				}
				if e.OptOut || e.Button == "unsubscribe" || e.Preference == "stop" || strings.Contains(path, "131026") {
					stops++
				}
			}
			for kind, n := range i.Counts().Events {
				if kinds[kind] != n {
					t.Errorf("%d events of kind %s, want %d", n, kind, kinds[kind])
				}
			}
			if got := m.all(); len(got.Statuses) != statuses || len(got.Suppressions) != stops {
				t.Errorf("%d statuses, want %d; %d suppressions, want %d", len(got.Statuses), statuses, len(got.Suppressions), stops)
			}
		})
	}
}

// A message is a reply unless it is an opt-out, or the platform's own about a person.
func TestAMessageIsAReplyUnlessItIsAnOptOut(t *testing.T) {
	e, _ := folded(t, Options{},
		inbound("+15555550101", "how much is it?", noon),
		inbound("+15555550102", "STOP", noon),
		inbound("US.1349", "without a number", noon),
		strings.Replace(inbound("+15555550104", "changed", noon), `"type":"text"`, `"type":"system"`, 1),
	)
	want := []campaign.Reply{{Key: 15555550101, At: noon, Connection: "conn_1"}}
	if d := cmp.Diff(want, e.Replies); d != "" || len(e.Suppressions) != 1 {
		t.Errorf("replies (-want +got):\n%sand %d opt-outs, want 1", d, len(e.Suppressions))
	}
}

// A message opens a service window on its connection, which a tier counts. The ledger decides from
// when the window counts, and whether the message is from a wrong clock.
func TestAMessageIsNotedWhereATierCounts(t *testing.T) {
	tiered := Options{Tiered: func(connection string) bool { return connection == "conn_1" }}
	before := time.Now()
	e, _ := folded(t, tiered,
		inbound("+15555550101", "hello", noon),
		inbound("+15555550102", "from a wrong clock", before.AddDate(1, 0, 0)),
		inbound("US.1349", "without a number", noon),
		strings.Replace(inbound("+15555550104", "hello", noon), "conn_1", "conn_2", 1),
		strings.Replace(inbound("+15555550105", "hello", noon), `"connectionId":"conn_1",`, "", 1),
		inbound("+15555550106", "from a clock that is ahead", before.Add(4*time.Minute)),
	)
	if len(e.Inbound) != 3 {
		t.Fatalf("noted %+v, want the messages of three numbers over conn_1", e.Inbound)
	}
	for n, at := range map[int]time.Time{0: noon, 1: before.AddDate(1, 0, 0), 2: before.Add(4 * time.Minute)} {
		if got := e.Inbound[n]; !got.ReceivedAt.IsZero() || !got.At.Equal(at.Truncate(time.Second)) {
			t.Errorf("noted %+v, want the own time %s, and no receipt", got, at)
		}
	}
	if e, _ = folded(t, Options{}, inbound("+15555550101", "hello", noon)); len(e.Inbound) != 0 {
		t.Errorf("noted %+v without a tier, want nothing", e.Inbound)
	}
}
