package connector

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/sandbox"
)

// autumn is a template with a picture.
func autumn(handle, text string) messaging.TemplateRecord {
	return messaging.TemplateRecord{Name: "autumn_sale", Language: "en_US", Category: "MARKETING", Components: []messaging.Component{
		{Type: "HEADER", Format: "IMAGE", Example: messaging.Example{HeaderHandle: []string{handle}}},
		{Type: "BODY", Text: text, Example: messaging.Example{BodyText: [][]string{{"Ada"}}}},
		{Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "PHONE_NUMBER", Text: "Call", PhoneNumber: "+15555550100"}}}}}
}

func TestBothConnectorsChangeTemplatesTheSame(t *testing.T) {
	slow := func(o *sandbox.Options) { o.Review.After = time.Hour }
	each(t, slow, func(t *testing.T, set *Set, s *sandbox.Sandbox) {
		find := func() (found messaging.TemplateRecord) {
			all, err := set.Templates(t.Context(), "conn_1")
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range all {
				if x.Name == "autumn_sale" {
					found = x
				}
			}
			return found
		}
		if got := find(); got.ID != "" {
			t.Fatalf("got %+v before the creation, want none", got)
		}
		picture := bytes.NewReader([]byte("\xFF\xD8\xFF\xE0\x00\x10JFIF\x00"))
		handle, err := set.UploadHeader(t.Context(), "conn_1", "banner.jpg", "image/jpeg", picture)
		if err != nil || handle == "" {
			t.Fatalf("got the handle %q, %v; want one", handle, err)
		}
		const first, second = "Hi {{1}}, our autumn sale has begun today.", "Hi {{1}}, our autumn sale ends this very evening."
		made, err := set.CreateTemplate(t.Context(), "conn_1", autumn(handle, first), "")
		if err != nil || made.ID == "" || made.Status != "PENDING" {
			t.Fatalf("got %+v, %v; want an id, in review", made, err)
		}
		if got := find(); got.ID != made.ID || got.Component("BODY").Text != first || got.Component("BODY").Example.BodyText[0][0] != "Ada" ||
			got.Component("BUTTONS").Buttons[0].PhoneNumber != "+15555550100" {
			t.Errorf("the listing has %+v, want the new template as it was created", got)
		}
		if _, err := set.CreateTemplate(t.Context(), "conn_1", autumn(handle, first), ""); !refusedWith(err, 400, 409) {
			t.Errorf("created twice: got %v, want a refusal of this template", err)
		}
		if err := s.SetTemplate("autumn_sale", "en_US", "approved"); err != nil {
			t.Fatal(err)
		}
		edited, err := set.EditTemplate(t.Context(), "conn_1", made.ID, autumn(handle, second).Components, "")
		if err != nil || edited.Status != "PENDING" || edited.Component("BODY").Text != second {
			t.Errorf("got %+v, %v; want the edited template, in review", edited, err)
		}
		if got := find(); got.Component("BODY").Text != second {
			t.Errorf("the listing has %+v, want the edited text", got)
		}
		if set.Cloud == nil {
			return
		}
		if err := set.Cloud.DeleteTemplate(t.Context(), "conn_1", "autumn_sale", made.ID); err != nil {
			t.Error(err)
		}
		if got := find(); got.ID != "" {
			t.Errorf("got %+v after the deletion, want none", got)
		}
	})
}

func refusedWith(err error, status ...int) bool {
	e, ok := errors.AsType[*messaging.Error](err)
	for _, s := range status {
		if ok && e.Status == s {
			return true
		}
	}
	return false
}

// A change in the platform's own manager counts after a sync.
func TestASyncCountsWhatTheListingLacked(t *testing.T) {
	silent := func(o *sandbox.Options) { o.Templates[0].Silent = o.API != sandbox.APICloud }
	each(t, silent, func(t *testing.T, set *Set, s *sandbox.Sandbox) {
		if _, err := set.Templates(t.Context(), "conn_1"); err != nil {
			t.Fatal(err)
		}
		silently := strings.NewReader(`{"language":"en_US","status":"paused","silent":true}`)
		told := httptest.NewRecorder()
		s.ServeHTTP(told, httptest.NewRequest(http.MethodPost, "/sandbox/templates/spring_sale/status", silently))
		if told.Code != http.StatusOK {
			t.Fatalf("a silent change: got %d %s, want 200", told.Code, told.Body)
		}
		if set.Cloud != nil {
			if err := set.Cloud.DeleteTemplate(t.Context(), "conn_1", "none", "1"); err == nil {
				t.Error("got no error for a template that the account does not have")
			}
		}
		n, err := set.SyncTemplates(t.Context(), "conn_1")
		if err != nil || n.Updated+n.Added == 0 || n.Removed != 0 {
			t.Errorf("got %+v, %v; want a change", n, err)
		}
		if again, err := set.SyncTemplates(t.Context(), "conn_1"); err != nil || again.Added+again.Updated+again.Removed != 0 {
			t.Errorf("the next one: got %+v, %v; want no change", again, err)
		}
	})
}
