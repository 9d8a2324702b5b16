package cloud

import (
	"bytes"
	"cmp"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

func TestEventsAreReadAsThePagesSay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireRoot, "events", "*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("got %d files, %v; want 2 at least", len(files), err)
	}
	for _, file := range files {
		var f struct {
			Source string
			Body   json.RawMessage
			Want   struct {
				Kind, Connection, Account, Status, Recipient, Mark string
				NumberID                                           string `json:"number_id"`
				MessageID                                          string `json:"message_id"`
				Code                                               int
				Pricing                                            *messaging.Pricing
			}
		}
		readJSON(t, &f, filepath.Join("events", filepath.Base(file)))
		got, err := DecodeEvents(f.Body, messaging.OptOut{}, only("200000000000001"), names)
		if err != nil || len(got.Events) != 1 || f.Source == "" {
			t.Fatalf("%s: got %+v, %v, source %q; want one event, and a source", file, got, err, f.Source)
		}
		e, w := got.Events[0], f.Want
		if e.Kind.String() != w.Kind || e.Connection != w.Connection || e.Account != w.Account || string(e.Status) != w.Status ||
			e.Recipient != w.Recipient || e.Mark != w.Mark || e.NumberID != w.NumberID || e.MessageID != w.MessageID ||
			e.Code != w.Code || !reflect.DeepEqual(e.Pricing, w.Pricing) {
			t.Errorf("%s:\n got %+v %+v\nwant %+v %+v", file, e, e.Pricing, w, w.Pricing)
		}
	}
}

func only(account string) func(string) bool { return func(id string) bool { return id == account } }

// names knows the numbers 300000000000001 and 300 of the account, by their ids and as +15550100300;
// 400 is of another account, and 500 is not listed.
func names(id, digits string) (connection string, s Standing) {
	switch {
	case id == "300000000000001":
		return "main", Own
	case id == "300", id == "300000000000002", id == "" && digits == "15550100300":
		return cmp.Or(id, "300"), Own
	case id == "500":
		return "", Unlisted
	}
	return "", Others
}

func TestASignatureVouchesForItsNumbersOnly(t *testing.T) {
	entry := func(account, field, value string) string {
		return `{"id":"` + account + `","changes":[{"field":"` + field + `","value":{` + value + `}}]}`
	}
	status := func(metadata string) string {
		return metadata + `"statuses":[{"id":"wamid.A","status":"sent","timestamp":"1790000000","recipient_id":"15555550101"}]`
	}
	for name, c := range map[string]struct {
		entries                   []string
		events, ignored, unlisted int
	}{
		"its number": {[]string{entry("1", "messages", status(`"metadata":{"phone_number_id":"300"},`))}, 1, 0, 0},
		"its number by its digits": {[]string{entry("1", "messages", status(`"metadata":{"display_phone_number":"15550100300"},`))}, 1,
			0, 0},
		"a number of another account": {[]string{entry("1", "messages", status(`"metadata":{"phone_number_id":"400"},`))}, 0, 1, 0},
		"another's digits": {[]string{entry("1", "messages", status(`"metadata":{"display_phone_number":"15550100400"},`))}, 0,
			1, 0},
		"a number that nobody listed yet": {[]string{entry("1", "messages", status(`"metadata":{"phone_number_id":"500"},`))}, 0, 0, 1},
		"no number":                       {[]string{entry("1", "messages", status(""))}, 0, 1, 0},
		"no number in a preference": {[]string{entry("1", "user_preferences",
			`"user_preferences":[{"wa_id":"15555550101","value":"resume","timestamp":"1790000000"}]`)}, 0, 1, 0},
		"no number in an error of one": {[]string{entry("1", "messages", `"errors":[{"code":130429}]`)}, 0, 1, 0},
		"another's account":            {[]string{entry("2", "messages", status(`"metadata":{"phone_number_id":"300"},`))}, 0, 1, 0},
		"an entry without an id":       {[]string{`{"changes":[{"field":"account_update","value":{"event":"DISABLE"}}]}`}, 0, 1, 0},
		"another's beside its own": {[]string{entry("2", "messages", status(`"metadata":{"phone_number_id":"400"},`)),
			entry("1", "messages", status(`"metadata":{"phone_number_id":"300"},`))}, 1, 1, 0},
		"an event of the account": {[]string{entry("1", "account_update", `"event":"ACCOUNT_DELETED"`)}, 1, 0, 0},
	} {
		body := `{"object":"whatsapp_business_account","entry":[` + strings.Join(c.entries, ",") + `]}`
		got, err := DecodeEvents([]byte(body), messaging.OptOut{}, only("1"), names)
		if err != nil || len(got.Events) != c.events || len(got.Ignored) != c.ignored || len(got.Unlisted) != c.unlisted {
			t.Errorf("%s: got %+v, %v; want %d events, %d ignored, %d unlisted", name, got, err, c.events, c.ignored, c.unlisted)
		}
	}
}

func TestAChangeIsOfTheAccountOfItsEntry(t *testing.T) {
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"account_update","value":` +
		`{"event":"ACCOUNT_DELETED","account_id":"2","wabaId":"2","companyId":"co_1"}}]}]}`
	got, err := DecodeEvents([]byte(body), messaging.OptOut{}, only("1"), names)
	if err != nil || len(got.Events) != 1 || got.Events[0].Account != "1" || got.Events[0].Change.Company != "" {
		t.Errorf("got %+v, %v; want one event of account 1 and of no company", got, err)
	}
}

// A history has what a person and the business wrote before the number came to the API. Of it the
// person's opt-outs that have a time are events, however many other messages there are.
func TestOnlyStopsOfAHistoryAreEvents(t *testing.T) {
	const person, business = "15555550101", "15550100300"
	message := func(from, at, text string) string {
		return `{"from":"` + from + `","id":"wamid.H","timestamp":"` + at + `","type":"text","text":{"body":"` + text +
			`"},"history_context":{"status":"READ"}}`
	}
	hi := slices.Repeat([]string{message(person, "1780000000", "hi")}, 3*messaging.MaxEvents)
	for name, c := range map[string]struct {
		messages []string
		want     int
	}{
		"a stop":                  {[]string{message(person, "1780000000", "Stop. Thank you")}, 1},
		"with a plus":             {[]string{message("+"+person, "1780000000", "STOP")}, 1},
		"the operator's own word": {[]string{message(person, "1780000000", "no more offers")}, 1},
		"two, and a sentence": {[]string{message(person, "1780000000", "STOP"), message(person, "1780000001", "stop by tomorrow"),
			message(person, "1780000002", "STOP")}, 2},
		"what the business wrote":      {[]string{message(business, "1780000000", "STOP")}, 0},
		"without a time":               {[]string{message(person, "", "STOP")}, 0},
		"no object":                    {[]string{`"STOP"`, `7`}, 0},
		"more messages than MaxEvents": {append(hi, message(person, "1780000009", "STOP")), 1},
	} {
		body := `{"object":"whatsapp_business_account","entry":[{"id":"1","time":1790000000,"changes":[{"field":"history","value":{` +
			`"metadata":{"phone_number_id":"300","display_phone_number":"` + business + `"},"history":[{"metadata":{"phase":1},"threads":[{"id":"` +
			person + `","messages":[` + strings.Join(c.messages, ",") + `]}]}]}}]}]}`
		got, err := DecodeEvents([]byte(body), messaging.NewOptOut("no more offers"), only("1"), names)
		stops := slices.DeleteFunc(got.Events, func(e messaging.Event) bool { return e.Kind != messaging.KindMessage })
		if err != nil || len(stops) != c.want {
			t.Errorf("%s: got %+v, %v; want %d opt-outs", name, stops, err, c.want)
		}
		for _, e := range stops {
			if e.At.Year() != 2026 || e.At.Month() != 5 || e.Connection != "300" || e.Inbound.From != person || e.MessageID != "wamid.H" {
				t.Errorf("%s: got %+v by %+v, want one of May 2026 over 300 by the person", name, e, e.Inbound)
			}
		}
	}
}

func TestALongMarkIsNoMark(t *testing.T) {
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{` +
		`"metadata":{"phone_number_id":"300"},"statuses":[` +
		`{"id":"wamid.A","status":"sent","biz_opaque_callback_data":"` + strings.Repeat("x", 513) + `"}]}}]}]}`
	got, err := DecodeEvents([]byte(body), messaging.OptOut{}, only("1"), names)
	if err != nil || len(got.Events) != 1 || got.Events[0].Mark != "" {
		t.Errorf("got %+v, %v; want one event without a mark", got, err)
	}
}

func FuzzDecodeEvents(f *testing.F) {
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"statuses":[{}]}}]}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		got, err := DecodeEvents(body, messaging.OptOut{}, only("1"), names)
		n := len(got.Events) + len(got.Ignored) + len(got.Unlisted)
		if err != nil && n > 0 || n > messaging.MaxEvents || !bytes.Equal(before, body) {
			t.Errorf("got %d events with %v, want none with an error, at most %d, and the body unchanged", n, err, messaging.MaxEvents)
		}
	})
}
