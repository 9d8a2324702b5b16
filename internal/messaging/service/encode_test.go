package service

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

func encoded(t testing.TB, m *messaging.Message) string {
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
		m := &messaging.Message{ConnectionID: conn, To: to, Template: &messaging.Template{Name: name, Language: language}}
		if shape&1 != 0 {
			m.Template.Body = []string{first, second}
		}
		if shape&2 != 0 {
			m.Template.Header = &messaging.Header{Image: &messaging.Media{AssetID: first, Link: second}}
		}
		if shape&4 != 0 {
			m.Template.Header = &messaging.Header{Video: &messaging.Media{ID: first},
				Document: &messaging.Document{Media: messaging.Media{Link: second}, Filename: kind}}
		}
		if shape&8 != 0 {
			m.Template.Buttons = []messaging.TemplateButton{{Type: kind, Text: first}, {Type: second, Text: kind}}
		}
		if shape&16 != 0 {
			m.Template.OTP, m.ReplyTo = first, second
		}
		if shape&32 != 0 {
			m.Template.Header = &messaging.Header{}
		}
		if shape&64 != 0 {
			m.Template.Header = &messaging.Header{Document: &messaging.Document{}, Image: &messaging.Media{}}
		}
		if got := appendMessage(nil, m); string(got) != encoded(t, m) {
			t.Fatalf("got %s\nwant %s", got, encoded(t, m))
		}
	})
}

// Any part of a template may be missing. Each combination is the JSON that encoding/json writes.
func TestEveryShapeOfATemplateIsItsJSON(t *testing.T) {
	media := []*messaging.Media{nil, {}, {AssetID: "ast_1"}, {ID: "7"}, {Link: "https://x.example/a"}, {AssetID: "ast_1", ID: "7"},
		{ID: "7", Link: "l"}, {AssetID: "ast_1", ID: "7", Link: "l"}}
	headers := []*messaging.Header{nil, {}}
	for _, image := range media {
		for _, video := range media {
			headers = append(headers, &messaging.Header{Image: image, Video: video}, &messaging.Header{Image: image, Video: video,
				Document: &messaging.Document{}})
			if video != nil {
				headers = append(headers, &messaging.Header{Image: image, Document: &messaging.Document{Media: *video}},
					&messaging.Header{Video: image, Document: &messaging.Document{Media: *video, Filename: "a.pdf"}})
			}
		}
	}
	bodies := [][]string{nil, {}, {"Ada"}, {"Ada", "", "20 %"}}
	buttons := [][]messaging.TemplateButton{nil, {}, {{Type: "url", Text: "slug"}},
		{{Type: "url"}, {Type: "copy_code", Text: "X"}}}
	for n, header := range headers {
		for _, rest := range []string{"", "x"} {
			m := &messaging.Message{ConnectionID: "conn_1", To: "+15555550101", ReplyTo: rest,
				Template: &messaging.Template{Name: "sale", Language: "en", Header: header, Body: bodies[n%4], Buttons: buttons[n/2%4], OTP: rest}}
			if got := appendMessage(nil, m); string(got) != encoded(t, m) {
				t.Errorf("got %s\nwant %s", got, encoded(t, m))
			}
		}
	}
}

// Each character is written as encoding/json does, alone and among others.
func TestEveryCharacterIsWrittenAsJSON(t *testing.T) {
	var texts []string
	for b := range 256 {
		texts = append(texts, string([]byte{byte(b)}), string([]byte{'a', byte(b), 'b'}))
	}
	for _, r := range []rune{0x80, 0x7ff, 0x800, 0x2027, 0x2028, 0x2029, 0x202a, 0xfffd, 0xffff, 0x10000, 0x10ffff} {
		texts = append(texts, string(r), "a"+string(r)+"b")
	}
	for _, text := range texts {
		m := &messaging.Message{To: text, Template: &messaging.Template{Name: text}}
		if got := appendMessage(nil, m); string(got) != encoded(t, m) {
			t.Errorf("%q:\n got %s\nwant %s", text, got, encoded(t, m))
		}
	}
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
		if err := json.Unmarshal(body, &want); err != nil || want.Data.MessageID != id || !messaging.UsableID(id) {
			t.Fatalf("%q: %q, want %q (%v)", body, id, want.Data.MessageID, err)
		}
	})
}

// quickReceipt reads the usual answer with white space everywhere that JSON allows it. It
// never reads a damaged answer differently from encoding/json.
func TestTheUsualReceiptIsReadQuickly(t *testing.T) {
	tokens := []string{"{", `"data"`, ":", "{", `"messageId"`, ":", `"wamid.HBgL"`, "}", "}"}
	for at := range len(tokens) + 1 {
		for _, space := range []string{"", " ", "\n", "\r", "\t", " \r\n\t"} {
			body := strings.Join(tokens[:at], "") + space + strings.Join(tokens[at:], "")
			if id, ok := quickReceipt([]byte(body)); !ok || id != "wamid.HBgL" {
				t.Errorf("%q: %q, %t; want wamid.HBgL, true", body, id, ok)
			}
		}
	}
	for length, want := range map[int]bool{0: false, 1: true, 256: true, 257: false} {
		id := strings.Repeat("a", length)
		if got, ok := quickReceipt([]byte(`{"data":{"messageId":"` + id + `"}}`)); ok != want || ok && got != id {
			t.Errorf("an ID of %d bytes: %d bytes, %t; want %t", length, len(got), ok, want)
		}
	}
	text := strings.Join(tokens, "")
	damaged := []string{text + "x", text + text}
	for i := range len(text) {
		damaged = append(damaged, text[:i], text[:i]+text[i+1:])
		for _, c := range " !\"\\,:{}[]x\x00\x7f" {
			damaged = append(damaged, text[:i]+string(c)+text[i+1:], text[:i]+string(c)+text[i:])
		}
	}
	for _, body := range damaged {
		id, ok := quickReceipt([]byte(body))
		var want struct{ Data struct{ MessageID string } }
		if err := json.Unmarshal([]byte(body), &want); ok && (err != nil || want.Data.MessageID != id || !messaging.UsableID(id)) {
			t.Errorf("%q: %q, want %q (%v)", body, id, want.Data.MessageID, err)
		}
	}
}
