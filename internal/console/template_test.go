package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
)

// catalogue is a service with many templates.
type catalogue struct {
	operator.Service
	templates []messaging.TemplateRecord
	fails     error
}

func (c *catalogue) Connections(context.Context) ([]messaging.Connection, error) {
	return []messaging.Connection{{ID: "conn_1", CompanyID: "comp_1"}}, c.fails
}

func (c *catalogue) Templates(context.Context, string) ([]messaging.TemplateRecord, error) {
	return c.templates, c.fails
}

// serviced is a world whose service lists 300 templates.
func serviced(t testing.TB) (*world, *catalogue) {
	t.Helper()
	c := &catalogue{}
	for i := range 300 {
		c.templates = append(c.templates, messaging.TemplateRecord{Name: fmt.Sprintf("sale_%03d", i), Language: "en_US", Status: "APPROVED",
			Category:   "MARKETING",
			Components: []messaging.Component{{Type: "HEADER", Format: "IMAGE"}, {Type: "BODY", Text: "Hi {{1}} " + hostile}}})
	}
	c.templates[7].Status, c.templates[8].Status, c.templates[8].Reason = "PAUSED", "REJECTED", "INVALID_FORMAT"
	w := newWorld(t)
	w.Server.process.Session.Service = c
	return w, c
}

func TestTemplatesAreSearched(t *testing.T) {
	w, c := serviced(t)
	page := func(query string) string {
		t.Helper()
		got := w.request("/console/new?"+query, "admin", nil)
		if found := unsafe(got.Body.String()); got.Code != http.StatusOK || found != "" {
			t.Errorf("%s: got %d and %q, want a page without that", query, got.Code, found)
		}
		return got.Body.String()
	}
	if text := page(""); strings.Contains(text, "sale_001") || !strings.Contains(text, "quality") {
		t.Errorf("got %s, want the numbers with their quality, and no template before a search", text)
	}
	text := page("connection=conn_1")
	if strings.Count(text, `aria-label="Choose sale_`) != 48 || !strings.Contains(text, "300 found") || !strings.Contains(text, "after=50") {
		t.Errorf("got %s, want the first 50 of 300, without buttons for two", text)
	}
	for _, want := range []string{"PAUSED", "because people blocked or reported it", "The platform rejected it. Its reason: INVALID FORMAT."} {
		if !strings.Contains(text, want) {
			t.Errorf("got a page without %q", want)
		}
	}
	for query, want := range map[string]int{"connection=conn_1&after=250": 50, "connection=conn_1&find=SALE_12": 10,
		"connection=conn_1&state=PAUSED": 0, "connection=conn_1&find=%3Cscript": 48, "connection=conn_1&after=x": 48} {
		if got := strings.Count(page(query), `aria-label="Choose sale_`); got != want {
			t.Errorf("%s: got %d templates to choose, want %d", query, got, want)
		}
	}
	c.fails = &messaging.Error{Status: 500}
	if text := page("connection=conn_1"); !strings.Contains(text, "The messaging service does not answer") ||
		!strings.Contains(text, "Choose winter") {
		t.Errorf("without the service: got %s, want why, and the campaigns of the folder", text)
	}
}

func TestATemplateBeginsACampaign(t *testing.T) {
	w, c := serviced(t)
	choose := func(name string) (int, string) {
		t.Helper()
		got := w.request("/console/new", "admin", url.Values{"template": {name}, "language": {"en_US"}, "connection": {"conn_1"}})
		return got.Code, got.Header().Get("Location") + got.Body.String()
	}
	code, to := choose("sale_001")
	if code != http.StatusSeeOther || !strings.HasSuffix(to, "/list") {
		t.Fatalf("got %d %s, want the list of a draft", code, to)
	}
	w.draft = strings.TrimSuffix(strings.TrimPrefix(to, "/console/new/"), "/list")
	w.upload(t, "l.csv", "mobile;name;picture\n+2348031234560;Nia;\n")
	if text := w.request(w.step("columns"), "admin", nil).Body.String(); !strings.Contains(text, `id="column-header_link"`) {
		t.Errorf("got %s, want a column for the picture", text)
	}
	w.request(w.step("columns"), "admin", url.Values{"column-to": {"mobile"}, "column-variable_1": {"name"},
		"column-header_link": {"picture"}, "default-header_link": {"https://shop.example/sale.png"}})
	d, err := file.Parse("c.yaml", w.request(w.step("campaign.yaml"), "admin", nil).Body.Bytes())
	if err != nil || d.Name != "sale_001" || d.Connections[0] != "conn_1" || d.Variables["header_link"].Default == "" {
		t.Errorf("got %+v (%v), want the campaign of the template with its picture", d, err)
	}
	w.found = &launch.Preflight{Rows: 1, Sendable: 1}
	if text := w.request(w.step("check"), "admin", nil).Body.String(); !strings.Contains(text, "Nia") {
		t.Errorf("got %s, want the message of the row", text)
	}
	for name, want := range map[string]int{"sale_007": http.StatusConflict, "sale_008": http.StatusConflict, "gone": http.StatusNotFound} {
		if code, text := choose(name); code != want {
			t.Errorf("%s: got %d %s, want %d", name, code, text, want)
		}
	}
	c.templates[0].Name = "winter" // as a campaign of the folder
	if _, to := choose("winter"); !strings.Contains(w.request(strings.TrimSuffix(to, "/list")+"/campaign.yaml", "admin", nil).Body.String(),
		"name: winter_console") {
		t.Errorf("got the draft %s, want a campaign of another name", to)
	}
}
