package service

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

func TestEveryNameOfAnEventLeadsToItsKind(t *testing.T) {
	const data = `{"messageId":"m1","status":"read","from":"15555550101","wa_id":"15555550101","value":"stop","name":"sale","event":"PAUSED"}`
	for kind, want := range map[string]messaging.Kind{
		"message.status": messaging.KindStatus, "message.sent": messaging.KindStatus, "message.delivered": messaging.KindStatus,
		"message.read": messaging.KindStatus, "message.failed": messaging.KindStatus,
		"message.received": messaging.KindMessage, "message.inbound": messaging.KindMessage,
		"template.status": messaging.KindTemplate, "template.reviewed": messaging.KindTemplate,
		"preference.updated": messaging.KindPreference, "user.preference": messaging.KindPreference, "user_preferences": messaging.KindPreference,
		"number.updated": messaging.KindNumber, "phone_number.quality": messaging.KindNumber, "account.updated": messaging.KindAccount,
		"company.suspended": messaging.KindAccount,
		"message.played":    messaging.KindUnknown, "message": messaging.KindUnknown, "sent": messaging.KindUnknown,
		"messages.sent":    messaging.KindUnknown,
		"templates.status": messaging.KindUnknown, "": messaging.KindUnknown,
	} {
		e := decodeOne(t, `{"type":"`+kind+`","data":`+data+`}`)
		if e.Kind != want || e.Type != kind {
			t.Errorf("%q is a %s named %q, want a %s", kind, e.Kind, e.Type, want)
		}
	}
}

// If an event gives a value twice, the more specific one counts, in any order of the two.
func TestTheMoreSpecificFieldOfAnEventCounts(t *testing.T) {
	first, second, third := time.Unix(1790000001, 0).UTC(), time.Unix(1790000002, 0).UTC(), time.Unix(1790000003, 0).UTC()
	for _, c := range []struct {
		body string
		want messaging.Event
	}{
		{`{"type":"message.status","event":"x","createdAt":1790000001,"timestamp":1790000002,"data":{"messageId":"m1","status":"read"}}`,
			messaging.Event{At: first}},
		{`{"event":"x","type":"message.status","timestamp":1790000002,"created_at":1790000001,"data":{"messageId":"m1","status":"read"}}`,
			messaging.Event{At: first}},
		{`{"event":"message.status","timestamp":1790000002,"payload":{"messageId":"m1","status":"read"}}`, messaging.Event{At: second}},
		{`{"type":"message.status","createdAt":1790000001,"data":{"messageId":"m1","status":"read","timestamp":1790000003}}`,
			messaging.Event{At: third}},
		{`{"type":"message.status","connectionId":"conn_1","data":{"messageId":"m1","status":"read","connectionId":"conn_2"}}`,
			messaging.Event{Connection: "conn_1"}},
		{`{"type":"message.status","data":{"messageId":"m1","status":"read","connection_id":"conn_2"}}`, messaging.Event{Connection: "conn_2"}},
		{`{"type":"message.status","eventId":"evt_1","connection_id":"conn_1","messageId":"m1","status":"read"}`,
			messaging.Event{Connection: "conn_1"}},
		{`{"type":"message.status","data":"none","messageId":"m1","status":"read"}`, messaging.Event{}},
		{`{"type":"message.delivered","data":{"messageId":"m1","status":"read"}}`, messaging.Event{}},
		{`{"type":"message.read","data":{"id":"x1","wamid":"m1"}}`, messaging.Event{}},
		{`{"type":"message.read","data":{"wamid":"m1","id":"x1"}}`, messaging.Event{}},
		{`{"type":"message.read","data":{"messageId":"m1","recipient":"+1 (555) 555-0101"}}`, messaging.Event{Recipient: "15555550101"}},
		{`{"type":"message.read","data":{"messageId":"m1","recipient_id":"15555550101","recipient_user_id":"US.1349"}}`,
			messaging.Event{Recipient: "15555550101", UserID: "US.1349", Contacts: []messaging.Contact{{UserID: "US.1349", Number: "15555550101"}}}},
		{`{"type":"message.read","data":{"messageId":"m1","to":"US.1349"}}`, messaging.Event{UserID: "US.1349",
			Contacts: []messaging.Contact{{UserID: "US.1349"}}}},
	} {
		body, want := c.body, c.want
		want.Kind, want.MessageID, want.Status = messaging.KindStatus, "m1", messaging.StatusRead
		e := decodeOne(t, body)
		e.Type = ""
		if !reflect.DeepEqual(e, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", body, e, want)
		}
	}
}

func TestAFailureIsReadInBothForms(t *testing.T) {
	for body, want := range map[string]messaging.Event{
		`"error":{"code":131026,"title":"T","details":"D","message":"M"}`:             {Code: 131026, Title: "T", Details: "D"},
		`"error":{"message":"M","details":"D"}`:                                       {Details: "D"},
		`"error":{"code":"131026","message":"M"}`:                                     {Code: 131026, Details: "M"},
		`"errors":[{"code":1,"message":"M","error_data":{"details":"E"}},{"code":2}]`: {Code: 1, Details: "E"},
		`"errors":[{"code":1,"error_data":{"details":""},"message":"M"}]`:             {Code: 1, Details: "M"},
		`"errors":[]`:                        {},
		`"errors":[{"code":0}]`:              {},
		`"errors":[{"code":-7}]`:             {},
		`"errors":[{"code":2147483647}]`:     {Code: 2147483647},
		`"errors":[{"code":2147483648}]`:     {},
		`"error":{"title":"to 15555550101"}`: {Title: "to 1555•••0101"},
	} {
		e := decodeOne(t, `{"type":"message.failed","data":{"messageId":"m1",`+body+`}}`)
		if e.Kind != messaging.KindStatus || e.Code != want.Code || e.Title != want.Title || e.Details != want.Details {
			t.Errorf("%s: %s with %d %q %q, want a status with %d %q %q",
				body, e.Kind, e.Code, e.Title, e.Details, want.Code, want.Title, want.Details)
		}
	}
}

// Prose from outside is cut to 300 bytes and its phone numbers are masked, in every field.
func TestProseOfEventsIsCutAndMasked(t *testing.T) {
	for length, want := range map[int]int{300: 300, 301: 300} {
		long := strings.Repeat("a", length)
		for _, body := range []string{`{"title":"%"}`, `{"details":"%"}`, `{"message":"%"}`, `{"error_data":{"details":"%"}}`} {
			for _, member := range []string{`"error":` + body, `"errors":[` + body + `]`} {
				e := decodeOne(t, `{"type":"message.failed","data":{"messageId":"m1",`+strings.Replace(member, "%", long, 1)+`}}`)
				if got := len(e.Title + e.Details); got != want {
					t.Errorf("%.40s of %d bytes: %d bytes, want %d", member, length, got, want)
				}
			}
		}
		if e := decodeOne(t,
			`{"type":"template.status","data":{"name":"sale","event":"PAUSED","reason":"`+long+`"}}`); len(e.Review.Reason) != want {
			t.Errorf("a reason of %d bytes: %d bytes, want %d", length, len(e.Review.Reason), want)
		}
	}
	e := decodeOne(t, `{"type":"template.status","data":{"name":"sale","event":"pau\u001bsed","category":"a b","reason":"call 15555550101"}}`)
	if want := (messaging.Review{Name: "sale", Event: "PAU_SED", Category: "A_B", Reason: "call 1555•••0101"}); *e.Review != want {
		t.Errorf("review = %+v, want %+v", *e.Review, want)
	}
}

// The number of an event is read under any of its names. An event that is no object is counted.
func TestANumbersEventNamesTheNumber(t *testing.T) {
	for _, name := range []string{"phoneNumber", "displayPhoneNumber", "display_phone_number"} {
		e := decodeOne(t, `{"type":"number.updated","data":{"`+name+`":"+1 555-555-0100"}}`)
		if want := "15555550100"; e.Number != want {
			t.Errorf("%s: number %q, want %q", name, e.Number, want)
		}
	}
	for _, body := range []string{`7`, `"x"`, `null`, `[1]`} {
		events, err := DecodeEvents([]byte("[" + body + "," + body + "]"))
		if err != nil || len(events) != 2 || events[0].Kind != messaging.KindUnknown {
			t.Errorf("%s: %+v, %v; want two unknown events", body, events, err)
		}
	}
}

func TestEveryFieldOfACustomersMessageIsRead(t *testing.T) {
	long := strings.Repeat("a", 257)
	for _, c := range []struct {
		body string
		want messaging.Inbound
	}{
		{`"from":{"phone":"+15555550101"},"text":"a"`, messaging.Inbound{From: "15555550101", Text: "a"}},
		{`"from":"15555550101","from_user_id":"US.1","text":"a"`, messaging.Inbound{From: "15555550101", Text: "a"}},
		{`"from":"15555550101","text":"a","image":{"caption":"b"}`, messaging.Inbound{From: "15555550101", Text: "a"}},
		{`"from":"15555550101","video":{"caption":"b"}`, messaging.Inbound{From: "15555550101", Text: "b"}},
		{`"from":"15555550101","document":{"caption":"b"}`, messaging.Inbound{From: "15555550101", Text: "b"}},
		{`"from":"15555550101","button":{"id":"i","title":"t"}`, messaging.Inbound{From: "15555550101", Text: "t", ButtonPayload: "i"}},
		{`"from":"15555550101","button":{"payload":"p","id":"i","text":"x","title":"t"}`,
			messaging.Inbound{From: "15555550101", Text: "x", ButtonPayload: "p"}},
		{`"from":"15555550101","interactive":{"listReply":{"id":"i","title":"t"}}`, messaging.Inbound{From: "15555550101", Text: "t",
			ButtonPayload: "i"}},
		{`"from":"15555550101","context":{"message_id":"wamid.A"}`, messaging.Inbound{From: "15555550101", ContextID: "wamid.A"}},
		{`"from":"15555550101","context":{"id":"` + long + `"}`, messaging.Inbound{From: "15555550101"}},
		{`"system":{"new_wa_id":"15555550199"}`, messaging.Inbound{MovedTo: "15555550199"}},
		{`"from":"15555550101","button":{"payload":"` + strings.Repeat("p", 5000) + `","text":""}`,
			messaging.Inbound{From: "15555550101", ButtonPayload: strings.Repeat("p", 4096)}},
	} {
		body, want := c.body, c.want
		e := decodeOne(t, `{"type":"message.received","data":{"messageId":"m1",`+body+`}}`)
		if e.Kind != messaging.KindMessage || e.MessageID != "m1" || !reflect.DeepEqual(*e.Inbound, want) {
			t.Errorf("%.80s: %s %q %+v, want %+v", body, e.Kind, e.MessageID, e.Inbound, want)
		}
	}
	if e := decodeOne(t, `{"type":"message.received","data":{"id":"`+long+`","from":"15555550101"}}`); e.Kind != messaging.KindMessage ||
		e.MessageID != "" {
		t.Errorf("an id that is too long: %s %q, want a message without one", e.Kind, e.MessageID)
	}
}

func TestAPreferenceNeedsAPersonAndAWish(t *testing.T) {
	for body, want := range map[string]*messaging.Preference{
		`"wa_id":"15555550101","value":"STOP"`:                      {From: "15555550101", Stop: true},
		`"phone":"+15555550101","preference":"resume"`:              {From: "15555550101"},
		`"user_id":"US.1349","value":"stop"`:                        {Stop: true},
		`"wa_id":"US.1349","value":"resume"`:                        {},
		`"value":"stop"`:                                            nil,
		`"wa_id":"15555550101"`:                                     nil,
		`"wa_id":"15555550101","value":"stop it"`:                   nil,
		`"wa_id":"15555550101","from":"15555550102","value":"stop"`: {From: "15555550101", Stop: true},
	} {
		e := decodeOne(t, `{"type":"preference.updated","data":{"timestamp":1790000600,`+body+`}}`)
		if !reflect.DeepEqual(e.Preference, want) || (e.Kind == messaging.KindPreference) != (want != nil) ||
			!e.At.Equal(time.Unix(1790000600, 0)) {
			t.Errorf("%s: %s %+v at %v, want %+v at 1790000600", body, e.Kind, e.Preference, e.At, want)
		}
	}
}

// The platform's envelope is found to a depth of four objects, in the first eight objects of each.
func TestThePlatformsEnvelopeIsFoundFourDeep(t *testing.T) {
	const one = `{"object":"whatsapp_business_account","entry":[{"changes":[` +
		`{"field":"messages","value":{"statuses":[{"id":"m1","status":"read"}]}}]}]}`
	for depth, want := range map[int]messaging.Kind{0: messaging.KindStatus, 4: messaging.KindStatus, 5: messaging.KindUnknown} {
		if e := decodeOne(t, strings.Repeat(`{"a":`, depth)+one+strings.Repeat("}", depth)); e.Kind != want {
			t.Errorf("%d deep: %s, want %s", depth, e.Kind, want)
		}
	}
	for before, want := range map[int]messaging.Kind{7: messaging.KindStatus, 8: messaging.KindUnknown} {
		if e := decodeOne(t, `{`+strings.Repeat(`"a":{},`, before)+`"raw":`+one+`}`); e.Kind != want {
			t.Errorf("after %d objects: %s, want %s", before, e.Kind, want)
		}
	}
	for name, body := range map[string]string{
		"another object": strings.Replace(one, `t":"whatsapp`, `t":"not_whatsapp`, 1),
		"no entry":       `{"object":"whatsapp_business_account","entry":{}}`,
	} {
		if e := decodeOne(t, body); e.Kind != messaging.KindUnknown {
			t.Errorf("%s: %s, want unknown", name, e.Kind)
		}
	}
}

func TestEveryChangeOfThePlatformHasItsKind(t *testing.T) {
	for _, c := range []struct {
		field, value string
		want         messaging.Event
	}{
		{"messages", `{"metadata":{"display_phone_number":"+1 555-555-0100"},"errors":[{"code":130429,"title":"Rate limit hit"}]}`,
			messaging.Event{Kind: messaging.KindNumber, Type: "messages/errors", Number: "15555550100", Code: 130429, Title: "Rate limit hit"}},
		{"smb_message_echoes", `{"messages":[{"from":"15555550100","id":"m1","text":{"body":"stop"}}]}`,
			messaging.Event{Type: "smb_message_echoes"}},
		{"messages", `{"statuses":[7]}`, messaging.Event{Type: "messages/statuses"}},
		{"messages", `{"messages":[{"id":"m1"}]}`, messaging.Event{Type: "messages/messages"}},
		{"phone_number_name_update", `{"display_phone_number":"15555550100"}`,
			messaging.Event{Kind: messaging.KindNumber, Type: "phone_number_name_update", Number: "15555550100"}},
		{"account_alerts", `{"a":1}`, messaging.Event{Kind: messaging.KindAccount, Type: "account_alerts"}},
		{"business_capability_update", `{"a":1}`, messaging.Event{Kind: messaging.KindAccount, Type: "business_capability_update"}},
		{"flows", `{"a":1}`, messaging.Event{Type: "flows"}},
		{"message_template_components_update", `{"a":1}`, messaging.Event{Type: "message_template_components_update"}},
	} {
		e := decodeOne(t,
			`{"object":"whatsapp_business_account","entry":[{"time":1790000001,"changes":[{"field":"`+c.field+`","value":`+c.value+`}]}]}`)
		c.want.At = time.Unix(1790000001, 0).UTC()
		if !reflect.DeepEqual(e, c.want) {
			t.Errorf("%s %s:\n got %+v\nwant %+v", c.field, c.value, e, c.want)
		}
	}
	// An entry without a time has the time of the service's event.
	e := decodeOne(t,
		`{"createdAt":1790000009,"data":{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"flows","value":{}}]}]}}`)
	if want := time.Unix(1790000009, 0); !e.At.Equal(want) {
		t.Errorf("at %v, want %v", e.At, want)
	}
}

func TestFieldsAreFoundByAnyOfTheirNames(t *testing.T) {
	v, err := rawjson.Parse([]byte(`{"qualityRating":null,"QUALITY":"green","tier":null,"messaging_limit":"TIER_2K","through_put":"HIGH"}`))
	if err != nil {
		t.Fatal(err)
	}
	r := recordOf(numberFields, v)
	for name, want := range map[string]string{
		"qualityRating": "green", "messagingLimitTier": "TIER_2K", "throughput": "HIGH",
		"coexistence": "",
	} {
		if got := r.text(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}
