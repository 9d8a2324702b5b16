package service

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"campaignd/internal/messaging"
)

// A comparison with a file needs the examples, and an edit the id.
func TestATemplateIsReadWithIDReasonAndExamples(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[{"id":"tpl_1","name":"sale","language":"en-US","status":"rejected","category":"MARKETING",
			"reason":"INVALID_FORMAT","components":[
			{"type":"HEADER","format":"IMAGE","example":{"header_handle":["h1"]}},
			{"type":"BODY","text":"Hi {{1}}, this is yours","example":{"body_text":[["Ada"]]}},
			{"type":"BUTTONS","buttons":[{"type":"PHONE_NUMBER","text":"Call","phone_number":"+2348031234567"},
				{"type":"URL","text":"Open","url":"https://shop.example/{{1}}","example":["https://shop.example/a"]}]}]}]}`)
	}))
	t.Cleanup(server.Close)
	got, err := testClient(t, server.URL, Options{}).Templates(t.Context(), "conn_1")
	want := []messaging.TemplateRecord{{ID: "tpl_1", Name: "sale", Language: "en_US", Status: "REJECTED", Category: "MARKETING",
		Reason: "INVALID_FORMAT", Components: []messaging.Component{
			{Type: "HEADER", Format: "IMAGE", Example: messaging.Example{HeaderHandle: []string{"h1"}}},
			{Type: "BODY", Text: "Hi {{1}}, this is yours", Example: messaging.Example{BodyText: [][]string{{"Ada"}}}},
			{Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "PHONE_NUMBER", Text: "Call", PhoneNumber: "+2348031234567"},
				{Type: "URL", Text: "Open", URL: "https://shop.example/{{1}}", Example: []string{"https://shop.example/a"}}}},
		}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v and %v, want\n%+v", got, err, want)
	}
}
