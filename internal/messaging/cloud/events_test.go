package cloud

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
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
		got, err := DecodeEvents(f.Body, only("200000000000001"), names)
		if err != nil || len(got) != 1 || f.Source == "" {
			t.Fatalf("%s: got %d events, %v, source %q; want one, and a source", file, len(got), err, f.Source)
		}
		e, w := got[0], f.Want
		if e.Kind.String() != w.Kind || e.Connection != w.Connection || e.Account != w.Account || string(e.Status) != w.Status ||
			e.Recipient != w.Recipient || e.Mark != w.Mark || e.NumberID != w.NumberID || e.MessageID != w.MessageID ||
			e.Code != w.Code || !reflect.DeepEqual(e.Pricing, w.Pricing) {
			t.Errorf("%s:\n got %+v %+v\nwant %+v %+v", file, e, e.Pricing, w, w.Pricing)
		}
	}
}

func only(account string) func(string) bool { return func(id string) bool { return id == account } }

func names(id string) string {
	if id == "300000000000001" {
		return "main"
	}
	return id
}

func TestASecretVouchesForItsAccountOnly(t *testing.T) {
	const two = `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[]},{"id":"2","changes":[]}]}`
	if got, err := DecodeEvents([]byte(two), only("1"), names); !errors.Is(err, ErrForeign) || got != nil {
		t.Errorf("got %v, %v of an entry of another account; want ErrForeign and no event", got, err)
	}
	const none = `{"object":"whatsapp_business_account","entry":[{"changes":[]}]}`
	if _, err := DecodeEvents([]byte(none), only("1"), names); !errors.Is(err, ErrForeign) {
		t.Errorf("got %v of an entry without an id, want ErrForeign", err)
	}
}

func TestALongMarkIsNoMark(t *testing.T) {
	body := `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"statuses":[` +
		`{"id":"wamid.A","status":"sent","biz_opaque_callback_data":"` + strings.Repeat("x", 513) + `"}]}}]}]}`
	got, err := DecodeEvents([]byte(body), only("1"), names)
	if err != nil || len(got) != 1 || got[0].Mark != "" {
		t.Errorf("got %+v, %v; want one event without a mark", got, err)
	}
}

func FuzzDecodeEvents(f *testing.F) {
	f.Add([]byte(`{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"statuses":[{}]}}]}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		got, err := DecodeEvents(body, only("1"), names)
		if err != nil && got != nil || len(got) > messaging.MaxEvents || !bytes.Equal(before, body) {
			t.Errorf("got %d events with %v, want none with an error, at most %d, and the body unchanged", len(got), err, messaging.MaxEvents)
		}
	})
}
