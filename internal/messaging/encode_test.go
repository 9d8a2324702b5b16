package messaging

import (
	"bytes"
	"encoding/json"
	"testing"
)

func encoded(t testing.TB, m *Message) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func FuzzAppendMessage(f *testing.F) {
	f.Add("conn_1", "+15555550101", "order_ready", "en_US", "A-1001", "\"\\\n\t<b>&é\u2028\xff\x00", "url", uint8(0xff))
	f.Add("", "", "", "", "", "", "", uint8(0))
	f.Fuzz(func(t *testing.T, conn, to, name, language, first, second, kind string, shape uint8) {
		m := &Message{ConnectionID: conn, To: to, Template: &Template{Name: name, Language: language}}
		if shape&1 != 0 {
			m.Template.Body = []string{first, second}
		}
		if shape&2 != 0 {
			m.Template.Header = &Header{Image: &Media{AssetID: first, Link: second}}
		}
		if shape&4 != 0 {
			m.Template.Header = &Header{Video: &Media{ID: first}, Document: &Document{Media{Link: second}, kind}}
		}
		if shape&8 != 0 {
			m.Template.Buttons = []TemplateButton{{kind, first}, {second, kind}}
		}
		if shape&16 != 0 {
			m.Template.OTP, m.ReplyTo = first, second
		}
		if shape&32 != 0 {
			m.Template.Header = &Header{}
		}
		if shape&64 != 0 {
			m.Template.Header = &Header{Document: &Document{}, Image: &Media{}}
		}
		if !plainTemplate(m) {
			t.Fatal("got the way through encoding/json, want the quick one")
		}
		got, err := appendMessage(nil, m)
		if err != nil || string(got) != encoded(t, m) {
			t.Fatalf("%v\n got %s\nwant %s", err, got, encoded(t, m))
		}
	})
}

func FuzzReadReceipt(f *testing.F) {
	f.Add([]byte(receiptText))
	f.Add([]byte(`{"data":{"messageId":"a\"b","warning":{"code":"outside_service_window"}}}`))
	f.Add([]byte(` { "data" : { "messageId" : "m1" } } x`))
	f.Fuzz(func(t *testing.T, body []byte) {
		id, ok := quickReceipt(body)
		if !ok {
			return
		}
		var want struct{ Data struct{ MessageID string } }
		if err := json.Unmarshal(body, &want); err != nil || want.Data.MessageID != id || !usableID(id) {
			t.Fatalf("%q: %q, want %q (%v)", body, id, want.Data.MessageID, err)
		}
	})
}

func TestAMessageThatIsNoTemplateGoesThroughJSON(t *testing.T) {
	text := "Hello"
	for _, m := range []*Message{{ConnectionID: "c", To: "+15555550101", Text: &text}, {Raw: json.RawMessage(`{"type":"x"}`)}, {}} {
		got, err := appendMessage(nil, m)
		if err != nil || string(got) != encoded(t, m) {
			t.Errorf("got %s, %v; want %s", got, err, encoded(t, m))
		}
	}
	if _, err := appendMessage(nil, &Message{Raw: json.RawMessage(`{`)}); err == nil {
		t.Error("got no error of a broken raw object, want one")
	}
}
