package service

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/rawjson"
)

func platformSample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "platform", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decodeOne(t testing.TB, body string) messaging.Event {
	t.Helper()
	events, err := DecodeEvents([]byte(body))
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v, want one in %s", len(events), err, body)
	}
	return events[0]
}

func TestThePlatformsOwnEnvelopeIsUnderstood(t *testing.T) {
	status := func(id, s string, at int64, to string) messaging.Event {
		return messaging.Event{Kind: messaging.KindStatus, Type: "messages/statuses", At: time.Unix(at, 0).UTC(),
			Number: "15555550100", MessageID: id, Status: messaging.Status(s), Recipient: to}
	}
	const id = "wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD0"
	limited := status(id+"2A", "failed", 1790000003, "15555550102")
	limited.MessageID = "wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD02A"
	limited.Code, limited.Title = 131049, "This message was not delivered to maintain healthy ecosystem engagement."
	limited.Details = "In order to maintain a healthy ecosystem engagement, the message failed to be delivered."
	gone := status("wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD03A", "failed", 1790000003, "15555550103")
	gone.Code, gone.Title, gone.Details = 131026, "Message undeliverable", "Message Undeliverable."
	for name, want := range map[string]messaging.Event{
		"01_status_sent_v23_conversation": status("wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD01A",
			"sent", 1790000001, "15555550101"),
		"03_status_read_v24_minimal": status("wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD01A",
			"read", 1790000300, "15555550101"),
		"04_status_failed_131049_marketing_limit": limited,
		"05_status_failed_131026_undeliverable":   gone,
		"12_inbound_text_stop": {Kind: messaging.KindMessage, Type: "messages/messages", At: time.Unix(1790000500, 0).UTC(),
			Number:    "15555550100",
			MessageID: "wamid.HBgLMTU1NTU1NTAxMDEVAgASGBQzQUlOQk9VTkQwMDAwMDAwMDAwMQA=",
			Inbound:   &messaging.Inbound{From: "15555550101", Type: "text", Text: "STOP"}},
		"17_user_preferences_stop": {Kind: messaging.KindPreference, Type: "user_preferences/user_preferences", At: time.Unix(1790000600,
			0).UTC(),
			Number: "15555550100", Preference: &messaging.Preference{From: "15555550101", Stop: true}},
		"19_template_status_paused_first": {Kind: messaging.KindTemplate, Type: "message_template_status_update", At: time.Unix(1790003600,
			0).UTC(),
			Review: &messaging.Review{Name: "promo_weekend", Language: "en_US",
				Event: "PAUSED", Category: "MARKETING", Reason: "FIRST_PAUSE"}},
		"20_template_status_approved_unpause": {Kind: messaging.KindTemplate, Type: "message_template_status_update",
			At: time.Unix(1790014400, 0).UTC(),
			Review: &messaging.Review{Name: "promo_weekend", Language: "en_US",
				Event: "APPROVED", Category: "MARKETING", Reason: "UNPAUSE"}},
		"27_phone_number_quality_throughput_upgrade": {Kind: messaging.KindNumber, Type: "phone_number_quality_update",
			At: time.Unix(1790003700, 0).UTC(), Number: "15555550100"},
		"28_business_capability_update_int": {Kind: messaging.KindAccount, Type: "business_capability_update", At: time.Unix(1790003800,
			0).UTC()},
	} {
		raw := platformSample(t, name)
		// The envelope stands alone, inside the service's data, deeper, and in a batch.
		for where, body := range map[string]string{
			"bare": string(raw),
			"data": `{"id":"evt_1","type":"platform.webhook","createdAt":"2026-09-21T00:00:00Z","connectionId":"conn_1","data":` +
				string(raw) + `}`,
			"deeper": `{"id":"evt_1","connectionId":"conn_1","data":{"source":"platform","payload":{"raw":` + string(raw) + `}}}`,
			"batch":  `[` + string(raw) + `]`,
			"events": `{"events":[` + string(raw) + `]}`,
		} {
			got, want := decodeOne(t, body), want
			if where == "data" || where == "deeper" {
				want.Connection = "conn_1"
			}
			if got.Account != "200000000000001" {
				t.Errorf("%s %s: account %q, want 200000000000001", name, where, got.Account)
			}
			got.Account, got.Change = "", nil
			got.NumberID, got.Mark, got.Pricing = "", "", nil // internal/messaging/cloud tests them
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s %s:\n got %+v %+v %+v %+v\nwant %+v", name, where, got, got.Inbound, got.Review, got.Preference, want)
			}
		}
	}
}

func TestTimestampsOfEveryForm(t *testing.T) {
	want := time.Date(2026, 9, 21, 14, 13, 21, 0, time.UTC)
	for _, stamp := range []string{`"2026-09-21T14:13:21Z"`, `"2026-09-21T15:13:21+01:00"`, `"1790000001"`, `1790000001`,
		`1790000001000`, `"1790000001000"`, `1790000001000000`, `1790000001.0`, `1.790000001e9`} {
		e := decodeOne(t, `{"type":"message.status","data":{"messageId":"m1","status":"sent","timestamp":`+stamp+`}}`)
		if !e.At.Equal(want) || e.At.Location() != time.UTC {
			t.Errorf("%s: %v, want %v in UTC", stamp, e.At, want)
		}
	}
	for _, stamp := range []string{`"yesterday"`, `-5`, `0`, `1e400`, `99999999999999999999`, `null`, `{}`, `""`} {
		e := decodeOne(t,
			`{"type":"message.status","createdAt":"2026-09-21T14:13:21Z","data":{"messageId":"m1","status":"sent","timestamp":`+stamp+`}}`)
		if e.Kind != messaging.KindStatus || !e.At.Equal(want) {
			t.Errorf("%s: %s at %v, want a status at the event's creation, %v", stamp, e.Kind, e.At, want)
		}
	}
}

func TestAnUnreadableEventIsOfUnknownKind(t *testing.T) {
	body := `[{"type":"message.status","data":{"messageId":"m1","status":"played"}},
		{"type":"message.status","data":{"status":"sent"}},
		{"type":"message.status","data":{"messageId":"` + strings.Repeat("x", 257) + `","status":"sent"}},
		{"type":"message.received","data":{}},
		{"type":"template.status","data":{"name":"x"}},
		{"type":"preference.updated","data":{"wa_id":"15555550101","value":"maybe"}},
		{"type":"new.kind","data":{"id":12345678901234567890}},
		{}, 7, "x", null, [],
		{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"new_field","value":{"a":1}},{"field":"messages","value":null}]}]},
		{"type":"message.status","data":{"messageId":"m1","status":"read"}}]`
	events, err := DecodeEvents([]byte(body))
	if err != nil || len(events) != 15 {
		t.Fatalf("%d events, %v; want 15", len(events), err)
	}
	for i, e := range events[:14] {
		if e.Kind != messaging.KindUnknown {
			t.Errorf("event %d: %+v, want an unknown one", i, e)
		}
	}
	if events[0].Type != "message.status/played" || events[14].Kind != messaging.KindStatus {
		t.Errorf("got %+v, want played named, and the last a status", events)
	}
}

// A batch may have an id, a time and a type of its own. Its events must not be read as one unknown
// event.
func TestABatchIsReadWithAnyOtherFields(t *testing.T) {
	const one = `{"type":"message.status","data":{"messageId":"m1","status":"sent"}}`
	for _, c := range []struct {
		body string
		want []messaging.Kind
	}{
		{`[]`, []messaging.Kind{}},
		{`{"events":[]}`, []messaging.Kind{}},
		{`{"id":"dlv_1","type":"batch","createdAt":"2026-09-21T14:13:21Z","events":[]}`, []messaging.Kind{}},
		{`{"id":"dlv_1","type":"batch","createdAt":"2026-09-21T14:13:21Z","events":[` + one + `,` + one + `]}`,
			[]messaging.Kind{messaging.KindStatus, messaging.KindStatus}},
		{`{"event":"batch","connectionId":"conn_1","events":[` + one + `]}`, []messaging.Kind{messaging.KindStatus}},
		{`{"type":"message.status","data":{"messageId":"m1","status":"sent"},"events":[` + one + `]}`, []messaging.Kind{messaging.KindStatus}},
		{`{"type":"webhook.updated","url":"https://x.example","events":["message.status","message.received"]}`,
			[]messaging.Kind{messaging.KindUnknown}},
		{`{"type":"account.updated","data":{"companyId":"co_1"},"events":[{"a":1},{"a":2}]}`, []messaging.Kind{messaging.KindAccount}},
		{`[{"events":[` + one + `]},{"object":"whatsapp_business_account","entry":[]},{"type":"batch","events":[` + one + `,` +
			one + `]},` + one + `]`, []messaging.Kind{messaging.KindStatus, messaging.KindStatus, messaging.KindStatus, messaging.KindStatus}},
	} {
		body, want := c.body, c.want
		events, err := DecodeEvents([]byte(body))
		got := []messaging.Kind{}
		for _, e := range events {
			got = append(got, e.Kind)
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", body, got, err, want)
		}
	}
}

func TestBodiesBeyondTheLimitsAreRefused(t *testing.T) {
	one := `{"type":"message.status","data":{"messageId":"m1","status":"sent"}}`
	full := "[" + strings.Repeat(one+",", messaging.MaxEvents-1) + one + "]"
	if events, err := DecodeEvents([]byte(full)); err != nil || len(events) != messaging.MaxEvents {
		t.Errorf("%d events, %v; want %d", len(events), err, messaging.MaxEvents)
	}
	for body, want := range map[string]error{
		"[" + strings.Repeat(one+",", messaging.MaxEvents) + one + "]":                 messaging.ErrTooManyEvents,
		strings.Repeat("[", 100000) + strings.Repeat("]", 100000):                      rawjson.ErrDepth,
		`{"data":` + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70) + "}": rawjson.ErrDepth,
		`"` + strings.Repeat("a", messaging.MaxBody) + `"`:                             messaging.ErrBodyTooLarge,
	} {
		if _, err := DecodeEvents([]byte(body)); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", body, err, want)
		}
	}
	for _, body := range []string{"", "null", "7", `"x"`, "{", `{"a":1}x`, "\xff"} {
		if _, err := DecodeEvents([]byte(body)); !errors.Is(err, messaging.ErrBody) {
			t.Errorf("%q: %v, want %v", body, err, messaging.ErrBody)
		}
	}
}

func TestInboundMessagesOfEveryShape(t *testing.T) {
	for _, c := range []struct {
		body string
		want messaging.Inbound
	}{
		{`{"from":"+1 (555) 555-0101","type":"text","text":"stop"}`, messaging.Inbound{From: "15555550101", Type: "text", Text: "stop"}},
		{`{"from":15555550101,"type":"text","text":"stop"}`, messaging.Inbound{From: "15555550101", Type: "text", Text: "stop"}},
		{`{"from":"15555550101","type":"interactive","interactive":{"button_reply":{"id":"yes","title":"Yes"}}}`,
			messaging.Inbound{From: "15555550101", Type: "interactive", Text: "Yes", ButtonPayload: "yes"}},
		{`{"from":"15555550101","type":"interactive","interactive":{"list_reply":{"id":"am","title":"Morning"}}}`,
			messaging.Inbound{From: "15555550101", Type: "interactive", Text: "Morning", ButtonPayload: "am"}},
		{`{"from":"15555550101","type":"image","image":{"id":"1","caption":"like this"},"context":{"id":"wamid.A"}}`,
			messaging.Inbound{From: "15555550101", Type: "image", Text: "like this", ContextID: "wamid.A"}},
		{`{"from_user_id":"US.13491208655302741918","type":"text","text":{"body":"hi"}}`,
			messaging.Inbound{Type: "text", Text: "hi"}},
		{`{"from":"15555550101","type":"system","system":{"type":"user_changed_number","wa_id":"15555550199"}}`,
			messaging.Inbound{From: "15555550101", Type: "system", MovedTo: "15555550199"}},
		{`{"from":"15555550101","type":"text","text":{"body":"\u0053\u0054OP \ud83d\udc4d"}}`,
			messaging.Inbound{From: "15555550101", Type: "text", Text: "STOP 👍"}},
		{`{"from":"15555550101","type":"text","text":{"body":"` + strings.Repeat("a", 5000) + `"}}`,
			messaging.Inbound{From: "15555550101", Type: "text", Text: strings.Repeat("a", 4096)}},
	} {
		body, want := c.body, c.want
		e := decodeOne(t, `{"type":"message.received","data":`+body+`}`)
		if e.Kind != messaging.KindMessage || !reflect.DeepEqual(*e.Inbound, want) {
			t.Errorf("%s:\n got %s %+v\nwant %+v", body, e.Kind, e.Inbound, want)
		}
	}
}

func TestTemplateEventsOfEveryShape(t *testing.T) {
	for _, c := range []struct {
		body string
		want messaging.Review
	}{
		{`{"message_template_id":9007199254740993,"message_template_name":"a","message_template_language":"en-US",` +
			`"previous_quality_score":"GREEN","new_quality_score":"RED"}`,
			messaging.Review{Name: "a", Language: "en_US", Event: "QUALITY", Reason: "RED"}},
		{`{"message_template_name":"a","message_template_language":"pt_BR","previous_category":"UTILITY","new_category":"MARKETING"}`,
			messaging.Review{Name: "a", Language: "pt_BR", Event: "CATEGORY", Category: "MARKETING"}},
		{`{"message_template_name":"a","message_template_language":"en","event":"REJECTED",` +
			`"reason":"NONE","rejection_info":{"reason":"TAG_CONTENT_MISMATCH"}}`,
			messaging.Review{Name: "a", Language: "en", Event: "REJECTED", Reason: "TAG_CONTENT_MISMATCH"}},
	} {
		body, want := c.body, c.want
		e := decodeOne(t,
			`{"object":"whatsapp_business_account","entry":[{"changes":[{"field":"message_template_status_update","value":`+body+`}]}]}`)
		if e.Kind != messaging.KindTemplate || !reflect.DeepEqual(*e.Review, want) {
			t.Errorf("%s:\n got %s %+v\nwant %+v", body, e.Kind, e.Review, want)
		}
	}
	// The time of the template wins over the time of the event. An invalid time is skipped.
	for at, want := range map[string]int64{
		`1767225600`: 1767225600, `"2026-01-01T00:00:00Z"`: 1767225600, `"soon"`: 1750000000, `0`: 1750000000,
	} {
		e := decodeOne(t, `{"type":"template.updated","timestamp":1750000000,"data":{"templateName":"a","status":"APPROVED","timestamp":`+at+`}}`)
		if e.Review == nil || e.At.Unix() != want {
			t.Errorf("timestamp %s: %+v at %d, want a review at %d", at, e.Review, e.At.Unix(), want)
		}
	}
}

func TestTheNamesOfSimilarServicesAreRead(t *testing.T) {
	e := decodeOne(t, `{"event":"message.status","messageId":"m1","status":"sent"}`)
	if e.Kind != messaging.KindStatus || e.Type != "message.status" || e.Status != messaging.StatusSent {
		t.Errorf("got %+v, want a status of type message.status", e)
	}
	v, _ := rawjson.Parse([]byte(`{"quality":"red","is_on_biz_app":true}`))
	if r := recordOf(numberFields, v); r.text("qualityRating") != "red" || r.text("coexistence") != "true" {
		t.Errorf("quality %q, coexistence %q; want red and true", r.text("qualityRating"), r.text("coexistence"))
	}
	if e := decodeOne(t, `{"type":"message.failed","data":{"id":"m1","errors":[{"code":"131026"}]}}`); e.Status != messaging.StatusFailed ||
		e.Code != 131026 {
		t.Errorf("got %+v, want failed with 131026", e)
	}
}

func TestTiersOfEveryShape(t *testing.T) {
	for tier, want := range map[string]int64{"TIER_250": 250, "TIER_2K": 2000, "tier_100k": 100000, "TIER_UNLIMITED": messaging.Unlimited,
		"-1": messaging.Unlimited, "2000": 2000, "TIER_NOT_SET": 0, "": 0, "TIER_-5": 0, "TIER_1M": 1000000} {
		if got := messaging.TierLimit(tier); got != want {
			t.Errorf("%s: %d, want %d", tier, got, want)
		}
	}
}

func FuzzDecodeEvents(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(wireRoot, "webhooks", "*", "body.json"))
	more, _ := filepath.Glob("testdata/platform/*.json")
	for _, name := range append(files, more...) {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"events":[{"type":"message.status","data":{"messageId":"\u0000","status":"sent"}}],"events":{}}`))
	remembering := EventDecoder(messaging.OptOut{})
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := DecodeEvents(body)
		if len(events) > messaging.MaxEvents || err != nil && events != nil {
			t.Fatalf("%d events, %v; want none beside an error, and never more than the limit", len(events), err)
		}
		if err == nil && !json.Valid(body) {
			t.Fatal("got no error of what is not JSON, want one")
		}
		if again, err := remembering(body); !reflect.DeepEqual(again, events) {
			t.Fatalf("%+v, %v with a memory of names, want %+v", again, err, events)
		}
		asEncodingJSON(t, body, events)
		for _, e := range events {
			if (e.Kind == messaging.KindStatus) != (e.Status != "") || e.Kind == messaging.KindStatus && !messaging.UsableID(e.MessageID) ||
				(e.Kind == messaging.KindMessage) != (e.Inbound != nil) || (e.Kind == messaging.KindTemplate) != (e.Review != nil) ||
				(e.Kind == messaging.KindPreference) != (e.Preference != nil) {
				t.Fatalf("%+v, want exactly the part of its kind", e)
			}
			if !e.At.IsZero() && (e.At.Year() < 2000 || e.At.Year() > 2200) {
				t.Fatalf("at %v, want between 2000 and 2200", e.At)
			}
			if e.Recipient != "" && strings.Trim(e.Recipient, "0123456789") != "" {
				t.Fatalf("%+v, want a recipient in digits", e)
			}
		}
	})
}
