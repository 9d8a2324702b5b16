package webhooks

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

var clients = Options{
	Origin: func(c string) campaign.Origin {
		return campaign.Origin{Connection: c, Account: map[string]string{"conn_a1": "acc_a", "conn_a2": "acc_a", "conn_b": "acc_b"}[c]}
	},
	Connections: func(number string) string {
		return map[string]string{"15555550100": "conn_a1", "15555550101": "conn_a2", "15555550102": "conn_b"}[number]
	},
}

func serviceEvent(typ, connection, data string, at time.Time) string {
	return fmt.Sprintf(`{"type":%q,"connectionId":%q,"createdAt":%q,"data":%s}`, typ, connection, at.Format(time.RFC3339), data)
}

func platformEvent(account, field, value string, at time.Time) string {
	return fmt.Sprintf(`{"object":"whatsapp_business_account","entry":[{"id":%q,"time":%d,"changes":[{"field":%q,"value":%s}]}]}`,
		account, at.Unix(), field, value)
}

// short is a hold or a lift in one line.
func short(e campaign.Events) (out []string) {
	for _, h := range e.Holds {
		s := fmt.Sprintf("hold %s %s %s since %s", h.Scope, h.ID, h.Reason, h.Since.Format("15:04"))
		if !h.Until.IsZero() {
			s += " until " + h.Until.Format("15:04")
		}
		if h.Manual {
			s += " manual"
		}
		out = append(out, s)
	}
	for _, l := range e.Lifts {
		out = append(out, fmt.Sprintf("lift %s %s %s at %s", l.Scope, l.ID, l.Reason, l.At.Format("15:04")))
	}
	return out
}

func TestTemplateEventsHoldOneAccountsTemplate(t *testing.T) {
	event := func(word string) string { return `{"name":"promo","language":"en-US","event":"` + word + `"}` }
	e, _ := folded(t, clients,
		serviceEvent("template.status", "conn_a1", event("PAUSED"), noon),
		serviceEvent("template.status", "conn_b", event("DISABLED"), noon.Add(time.Minute)),
		serviceEvent("template.status", "conn_b", event("APPROVED"), noon.Add(2*time.Minute)),
		serviceEvent("template.status", "", event("PAUSED"), noon),
		`{"type":"template.status","connectionId":"conn_b","data":`+event("APPROVED")+`}`)
	want := []string{
		"hold template acc_a/promo/en_US PAUSED since 12:00",
		"hold template acc_b/promo/en_US DISABLED since 12:01 manual",
		"hold template /promo/en_US PAUSED since 12:00", // the account is not known
		"lift template acc_b/promo/en_US  at 12:02",
		"lift template /promo/en_US  at 12:02",
	}
	if d := cmp.Diff(want, short(e)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// An event of the platform names its own account. Other events tell which connections that is.
func TestAPlatformsAccountIsLearntFromItsNumbers(t *testing.T) {
	status := func(account, number string) string {
		return platformEvent(account, "messages", `{"metadata":{"display_phone_number":"`+number+`"},`+
			`"statuses":[{"id":"wamid.X","status":"sent","timestamp":1790000000,"recipient_id":"15555559999"}]}`, noon)
	}
	pause := platformEvent("2001", "message_template_status_update",
		`{"event":"PAUSED","message_template_name":"promo","message_template_language":"en-US"}`, noon)
	banned := platformEvent("2001", "account_update", `{"event":"DISABLED_UPDATE","ban_info":{"waba_ban_state":"DISABLE"}}`, noon)
	e, _ := folded(t, clients, banned, status("2001", "15555550100"), status("2001", "15555550101"), status("2002", "15555550102"),
		pause, banned)
	want := []string{
		"hold account 2001 DISABLE since 12:00", // not known yet
		"hold template acc_a/promo/en_US PAUSED since 12:00",
		"hold account acc_a DISABLE since 12:00",
	}
	if d := cmp.Diff(want, short(e)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAccountAndNumberEventsHoldAndLift(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	e, _ := folded(t, clients,
		serviceEvent("account.updated", "conn_a1", `{"companyId":"co_a","status":"suspended"}`, at(0)),
		serviceEvent("account.updated", "conn_a1", `{"companyId":"co_a","status":"active"}`, at(1)),
		serviceEvent("account.updated", "conn_a1", `{"status":"disabled"}`, at(2)),
		serviceEvent("number.updated", "conn_b", `{"status":"RESTRICTED","expiresAt":"2026-09-21T18:00:00Z"}`, at(3)),
		serviceEvent("connection.updated", "conn_b", `{"status":"connected"}`, at(4)),
		serviceEvent("number.updated", "conn_b", `{"qualityRating":"RED"}`, at(5)),
		serviceEvent("number.updated", "conn_b", `{"status":"FLAGGED"}`, at(5)),
		serviceEvent("number.updated", "", `{"status":"BANNED"}`, at(5)),
		platformEvent("2009", "account_update", `{"event":"ACCOUNT_DELETED"}`, at(6)),
		`{"type":"connection.updated","connectionId":"conn_b","data":{"status":"connected"}}`,
		platformEvent("2009", "messages", `{"metadata":{"display_phone_number":"15555550102"},"errors":[{"code":131031}]}`, at(7)),
		platformEvent("2009", "messages", `{"metadata":{"display_phone_number":"15555550102"},"errors":[{"code":130429}]}`, at(7)))
	want := []string{
		"hold company co_a SUSPENDED since 12:00",
		"hold account acc_a DISABLED since 12:02",
		"hold connection conn_b RESTRICTED since 12:03 until 18:00",
		"hold account 2009 ACCOUNT_DELETED since 12:06 manual",
		"hold account acc_b 131031 since 12:07",
		"lift company co_a  at 12:01",
		"lift account acc_a  at 12:01",
		"lift connection conn_b  at 12:04",
	}
	if d := cmp.Diff(want, short(e)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for _, h := range e.Holds {
		if h.Source != campaign.HoldByEvent || h.Detail == "" {
			t.Errorf("%+v: want an event as its source, and a sentence", h)
		}
	}
}

// Where nobody tells the accounts, conn_1 and conn_2 of one client may share one, and the event
// that lifts it names one of them.
func TestALiftingEventCoversAccountsNobodyTells(t *testing.T) {
	o := Options{Peers: func(c string) []string { return map[string][]string{"conn_1": {"conn_2"}}[c] }}
	promo := func(word string) string { return `{"name":"promo","language":"en_US","event":"` + word + `"}` }
	e, _ := folded(t, o,
		serviceEvent("account.updated", "conn_1", `{"status":"disabled"}`, noon),
		serviceEvent("account.updated", "conn_1", `{"status":"active"}`, noon.Add(time.Minute)),
		serviceEvent("number.updated", "conn_1", `{"status":"connected"}`, noon.Add(2*time.Minute)),
		serviceEvent("template.status", "conn_1", promo("APPROVED"), noon.Add(3*time.Minute)))
	want := []string{
		"hold account conn_1 DISABLED since 12:00", // the other one finds out for itself
		"lift account conn_1  at 12:01",
		"lift account conn_2  at 12:01",
		"lift connection conn_1  at 12:02",
		"lift template conn_1/promo/en_US  at 12:03",
		"lift template conn_2/promo/en_US  at 12:03",
		"lift template /promo/en_US  at 12:03",
	}
	if d := cmp.Diff(want, short(e)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Events without a time begin what they begin at their receipt, and end nothing.
func TestAnEventWithoutATimeEndsNothing(t *testing.T) {
	e, _ := folded(t, clients,
		`{"type":"template.status","connectionId":"conn_b","data":{"name":"promo","event":"APPROVED"}}`,
		`{"type":"account.updated","connectionId":"conn_b","data":{"status":"active"}}`,
		`{"type":"preference.updated","data":{"wa_id":"15555550103","value":"resume"}}`,
		`{"type":"preference.updated","data":{"wa_id":"15555550104","value":"stop"}}`)
	if len(e.Lifts)+len(e.Lifted) != 0 || len(e.Suppressions) != 1 {
		t.Errorf("%+v; want one suppression and nothing ended", e)
	}
}

func TestMessagesThrottledLaterHoldTheConnection(t *testing.T) {
	var b breakers
	now := noon
	see := func(code int) (hold, lift bool) {
		h, l := b.see("conn_1", code == 0, messaging.Failed(code), now, now)
		if h != nil && (h.Source != campaign.HoldByBreaker || h.Reason != "130429" || h.ID != "conn_1") {
			t.Errorf("hold %+v, want 130429 of conn_1 by a breaker", h)
		}
		return h != nil, l != nil
	}
	for n := range 19 {
		if hold, _ := see(130429); hold {
			t.Fatalf("held after %d throttled messages, want 20", n+1)
		}
	}
	if hold, _ := see(130429); !hold {
		t.Fatal("not held after 20 of 20 throttled messages, want a hold")
	}
	if hold, _ := see(130429); hold {
		t.Error("a second report within the same second, want one a second")
	}
	now = now.Add(10 * time.Second)
	if hold, _ := see(130429); !hold {
		t.Error("not held again by the first throttled message after the rest, want a hold")
	}
	now = now.Add(10 * time.Second)
	if hold, lift := see(0); hold || !lift {
		t.Errorf("after a delivery: hold %t, lift %t; want a lift", hold, lift)
	}
	if hold, lift := see(130429); hold || lift {
		t.Errorf("one throttled message of a healthy number: hold %t, lift %t; want neither", hold, lift)
	}
	for range 100 { // a fifth is throttled
		for _, code := range []int{130429, 0, 0, 131026, 0} {
			if hold, _ := see(code); hold {
				t.Fatal("held with a fifth of the messages throttled, want 20 of 25")
			}
		}
	}
	for range 30 { // replayed
		if h, l := b.see("conn_2", false, messaging.Failed(130429), now.Add(-time.Hour), now); h != nil || l != nil {
			t.Fatalf("an old status: %v, %v; want neither", h, l)
		}
	}
}

// A delivered status that is dated ahead and comes again after a trip does not close the breaker.
func TestADeliveryFromTheFutureHealsNothing(t *testing.T) {
	var b breakers
	now := noon
	lifts := func(own time.Time, want bool, what string) {
		t.Helper()
		if _, l := b.see("conn_1", true, messaging.Failure{}, own, now); (l != nil) != want || l != nil && l.At.After(now) {
			t.Errorf("%s: lift %+v, want one %v, not later than its receipt %v", what, l, want, now)
		}
	}
	ahead := noon.Add(4 * time.Minute)
	lifts(ahead, true, "the first delivery since the start")
	now = now.Add(time.Second)
	for range 20 {
		b.see("conn_1", false, messaging.Failed(130429), now, now)
	}
	now = now.Add(time.Second)
	lifts(ahead, false, "the same delivery after the trip")
	lifts(now.Add(time.Hour), false, "a delivery more than 5 minutes ahead")
	lifts(time.Time{}, false, "a delivery without a time")
	now = ahead.Add(time.Second)
	lifts(ahead, false, "the same delivery when its own time has passed")
	lifts(now, true, "a later delivery")
}

// A message that failed for a reason nobody tells was not delivered.
func TestAFailureWithoutACodeEndsNoHold(t *testing.T) {
	status := func(id, rest string) string {
		return serviceEvent("message.status", "conn_b", `{"messageId":"wamid.`+id+`","to":"15555550104",`+rest+`}`, time.Now())
	}
	e, _ := folded(t, clients, status("1", `"status":"failed"`))
	if len(e.Lifts) != 0 {
		t.Errorf("a failure: got %v, want no lift", short(e))
	}
	e, _ = folded(t, clients, status("1", `"status":"failed"`), status("2", `"status":"delivered"`))
	if len(e.Lifts) != 1 {
		t.Errorf("then a delivery: got %v, want one lift", short(e))
	}
}

// An opt-out is one from all companies, or from that of its connection if so configured.
func TestAnOptOutCoversWhatIsConfigured(t *testing.T) {
	for per, want := range map[bool][]string{
		false: {"marketing", "marketing", "unreachable", "lifted marketing"},
		true:  {"marketing@co_a", "marketing", "unreachable", "lifted marketing@co_a"},
	} {
		o := Options{PerCompany: per, Origin: func(c string) campaign.Origin {
			return campaign.Origin{Connection: c, Company: map[string]string{"conn_a": "co_a"}[c]}
		}}
		stop := `{"wa_id":"15555550103","value":"stop"}`
		failed := `{"messageId":"wamid.1","status":"failed","to":"15555550104","errors":[{"code":131026}]}`
		e, _ := folded(t, o,
			serviceEvent("preference.updated", "conn_a", stop, noon),
			serviceEvent("preference.updated", "conn_unknown", stop, noon),
			serviceEvent("message.status", "conn_a", failed, noon),
			serviceEvent("preference.updated", "conn_a", `{"wa_id":"15555550105","value":"resume"}`, noon))
		var got []string
		for _, s := range e.Suppressions {
			got = append(got, s.ScopeText())
		}
		for _, s := range e.Lifted {
			got = append(got, "lifted "+s.ScopeText())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("per company: %v (-want +got):\n%s", per, d)
		}
	}
}

func TestAClientThatIsActiveHasActiveAccounts(t *testing.T) {
	e, _ := folded(t, clients, serviceEvent("account.updated", "conn_b", `{"companyId":"co_1","status":"active"}`, noon))
	want := []string{"lift company co_1  at 12:00", "lift account acc_b  at 12:00"}
	if d := cmp.Diff(want, short(e)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
