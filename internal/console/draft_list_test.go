package console

import (
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/uploads"
)

// Another replica took a corrected list of the same name. A replica that has the list of before
// shows and sends it no more.
func TestAReplicaWithAnEarlierListAsksForTheNewest(t *testing.T) {
	w := newWorld(t)
	here := w.Server.process.Uploads
	w.upload(t, "l.csv", "phone;First Name\n+2348031234560;Nia\n")
	w.Server.process.Uploads = uploads.New(filepath.Join(t.TempDir(), "there"),
		func(context.Context) ([]campaign.Run, error) { return nil, nil })
	w.upload(t, "l.csv", "phone;First Name\n+2348031234561;Ada\n")
	if text := w.request(w.step("columns"), "admin", nil).Body.String(); !strings.Contains(text, "Ada") {
		t.Errorf("the replica that took the list: got %s, want it", text)
	}
	w.Server.process.Uploads = here
	for _, step := range []string{"columns", "check", "send"} {
		got := w.request(w.step(step), "admin", nil)
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "Upload it again") {
			t.Errorf("%s of the other replica: got %d %s, want 409 and what to do", step, got.Code, got.Body)
		}
	}
	if got := w.request(w.step("send"), "admin", url.Values{"another": {"1"}}); got.Code != http.StatusConflict || w.launched > 0 {
		t.Errorf("sent by the other replica: got %d and %d launches, want 409 and none", got.Code, w.launched)
	}
	w.upload(t, "l.csv", "phone;First Name\n+2348031234561;Ada\n")
	if text := w.request(w.step("columns"), "admin", nil).Body.String(); !strings.Contains(text, "Ada") {
		t.Errorf("after it has the list: got %s, want it", text)
	}
}

// The last step is open in two tabs, and one of them goes back and changes the list or a column.
func TestThePageOfTheLastStepSendsWhatItShows(t *testing.T) {
	w := newWorld(t)
	shows := regexp.MustCompile(`name="shows" value="([0-9a-f]{64})"`)
	page := func() url.Values {
		t.Helper()
		m := shows.FindStringSubmatch(w.request(w.step("send"), "admin", nil).Body.String())
		if m == nil {
			t.Fatal("got a page without what it shows")
		}
		return url.Values{"another": {"1"}, "shows": {m[1]}}
	}
	for what, change := range map[string]func(){
		"another list": func() { w.upload(t, "l.csv", "phone;First Name\n+2348031234561;Ada\n") },
		"another column": func() {
			w.request(w.step("columns"), "admin", url.Values{"column-to": {"phone"}, "column-first_name": {"First Name"}})
		},
	} {
		old := page()
		change()
		got := w.request(w.step("send"), "admin", old)
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "changed on another page") || w.launched > 0 {
			t.Errorf("%s: got %d %s and %d launches, want 409, the reason and none", what, got.Code, got.Body, w.launched)
		}
	}
	if got := w.request(w.step("send"), "admin", page()); got.Code != http.StatusSeeOther || w.launched != 1 {
		t.Errorf("looked at again: got %d and %d launches, want the run and one", got.Code, w.launched)
	}
}
