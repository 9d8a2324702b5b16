package cloud

import (
	"bytes"
	"reflect"
	"testing"

	"campaignd/internal/messaging"
)

func TestTemplatesAreChangedAsThePagesSay(t *testing.T) {
	s := &script{left: list(t, "template_write"), always: map[string]wireExchange{"/phone_numbers": onePage(t, list(t, "numbers"))}}
	c, example := wireClient(t, s), messaging.Example{BodyText: [][]string{{"A-1"}}}
	body := messaging.Component{Type: "BODY", Text: "Your order {{1}} is ready for you today.", Example: example}
	buttons := messaging.Component{Type: "BUTTONS",
		Buttons: []messaging.ComponentButton{{Type: "PHONE_NUMBER", Text: "Call us", PhoneNumber: "+15555550100"}}}
	made, err := c.CreateTemplate(t.Context(), "300000000000001", messaging.TemplateRecord{Name: "order_waits", Language: "en_US",
		Category: "UTILITY", Components: []messaging.Component{body, buttons}}, "")
	if err != nil || made.ID != "594425479261596" || made.Status != "PENDING" {
		t.Errorf("got %+v, %v; want its id and PENDING", made, err)
	}
	body.Text = "Your order {{1}} waits for you until tonight."
	got, err := c.EditTemplate(t.Context(), "300000000000001", made.ID, []messaging.Component{body}, "")
	want := messaging.TemplateRecord{ID: made.ID, Name: "order_waits", Language: "en_US", Status: "PENDING", Category: "UTILITY",
		Components: []messaging.Component{body}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if made, err = c.CreateTemplate(t.Context(), "300000000000001", messaging.TemplateRecord{Name: "delivery_copy", Language: "en_US",
		Category: "UTILITY"}, "delivery_update_1"); err != nil || made.Status != "APPROVED" {
		t.Errorf("a copy of the library's: got %+v, %v; want it approved", made, err)
	}
	if err := c.DeleteTemplate(t.Context(), "300000000000001", "order_waits", want.ID); err != nil || len(s.left) != 0 {
		t.Errorf("got %v, %d requests left; want none", err, len(s.left))
	}
}

func TestAHeaderIsUploadedAsThePagesSay(t *testing.T) {
	s := &script{left: list(t, "upload"), always: map[string]wireExchange{"/phone_numbers": onePage(t, list(t, "numbers"))}}
	handle, err := wireClient(t, s).UploadHeader(t.Context(), "300000000000001", "banner.jpg", "image/jpeg",
		bytes.NewReader([]byte("\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01")))
	if err != nil || handle != "4::aW1hZ2UvanBlZw==:ARa" || len(s.left) != 0 {
		t.Errorf("got %q, %v, %d requests left; want the handle of the page", handle, err, len(s.left))
	}
}

// The listings of templates that other processes kept of an account are dropped, and nothing else.
func TestAChangeDropsTheListingsOfItsAccount(t *testing.T) {
	shelf := newShared()
	s := &script{left: list(t, "template_write")[:1], always: map[string]wireExchange{"/phone_numbers": onePage(t, list(t, "numbers"))}}
	c := wireClient(t, s)
	c.Share(shelf)
	host := c.shelfPrefix()
	for _, name := range []string{host + "200000000000001/message_templates?limit=100", host + "200000000000002/message_templates?limit=100"} {
		if err := shelf.KeepListing(t.Context(), name, `{"data":[]}`); err != nil {
			t.Fatal(err)
		}
	}
	body := messaging.Component{Type: "BODY", Text: "Your order {{1}} is ready for you today.",
		Example: messaging.Example{BodyText: [][]string{{"A-1"}}}}
	buttons := messaging.Component{Type: "BUTTONS",
		Buttons: []messaging.ComponentButton{{Type: "PHONE_NUMBER", Text: "Call us", PhoneNumber: "+15555550100"}}}
	if _, err := c.CreateTemplate(t.Context(), "300000000000001", messaging.TemplateRecord{Name: "order_waits", Language: "en_US",
		Category: "UTILITY", Components: []messaging.Component{body, buttons}}, ""); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"200000000000001/message_templates?limit=100": "",
		"200000000000002/message_templates?limit=100": `{"data":[]}`} {
		if got, _, _ := shelf.Listing(t.Context(), host+name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if got, _, _ := shelf.Listing(t.Context(), c.shelfName(question{account: "200000000000001", edge: "phone_numbers",
		query: map[string][]string{"fields": {numberFields}}})); got == "" {
		t.Error("the numbers are no longer kept, want them kept")
	}
}
