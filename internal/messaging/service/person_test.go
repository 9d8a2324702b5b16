package service

import (
	"slices"
	"testing"

	"campaignd/internal/messaging"
)

// A person may be named by a number, a user id of the platform, or both, in the event or beside it.
func TestAUserIDIsReadWhereverItStands(t *testing.T) {
	change := func(field, value string) string {
		return `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"` + field + `","value":{` + value + `}}]}]}`
	}
	const u, n, o = "US.13491208655302741918", "15555550101", "US.7"
	for _, c := range []struct {
		body, user string
		want       []messaging.Contact
	}{
		{change("messages", `"messages":[{"from_user_id":"`+u+`","id":"wamid.I","type":"text","text":{"body":"STOP"}}]`), u,
			[]messaging.Contact{{UserID: u}}},
		{change("messages", `"contacts":[{"wa_id":"`+n+`","user_id":"`+u+`"}],"messages":[{"from":"`+n+`","id":"wamid.I","type":"text"}]`), "",
			[]messaging.Contact{{UserID: u, Number: n}}},
		{change("messages", `"statuses":[{"id":"wamid.A","status":"sent","recipient_id":"`+n+`","recipient_user_id":"`+u+`"}]`), u,
			[]messaging.Contact{{UserID: u, Number: n}}},
		{change("messages", `"contacts":[{"user_id":"`+u+`"}],"statuses":[{"id":"wamid.A","status":"read","recipient_user_id":"`+u+`"}]`), u,
			[]messaging.Contact{{UserID: u}, {UserID: u}}},
		{change("user_preferences", `"user_preferences":[{"user_id":"`+u+`","value":"stop"}]`), u, []messaging.Contact{{UserID: u}}},
		{change("messages", `"messages":[{"from":"`+n+`","from_user_id":"`+o+`","type":"system",`+
			`"system":{"wa_id":"15555550199","user_id":"`+u+`"}}]`), o,
			[]messaging.Contact{{UserID: u, Number: "15555550199"}, {UserID: o, Number: n}}},
		{change("other", `"contacts":[{"wa_id":"`+n+`","user_id":"`+u+`"}]`), "", []messaging.Contact{{UserID: u, Number: n}}},
		{`{"type":"message.received","data":{"from":"` + u + `","type":"text","text":"STOP"}}`, u, []messaging.Contact{{UserID: u}}},
		{`{"type":"message.received","data":{"from_user_id":"a b","from":"` + n + `"}}`, "", nil},
	} {
		e := decodeOne(t, c.body)
		if e.UserID != c.user || !slices.Equal(e.Contacts, c.want) {
			t.Errorf("%s: %s of %q with %+v; want %q with %+v", c.body, e.Kind, e.UserID, e.Contacts, c.user, c.want)
		}
	}
}
