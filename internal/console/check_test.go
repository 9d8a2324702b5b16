package console

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
	"campaignd/internal/operator"
)

func TestACheckSaysWhenItWouldBeDone(t *testing.T) {
	w := newWorld(t)
	w.found = &launch.Preflight{Header: []string{"phone", "First Name"}, Rows: 3, Sendable: 1,
		Skipped:     map[campaign.SkipReason]int64{campaign.InvalidPhone: 2},
		Examples:    []campaign.Reject{{Row: 2, Line: 3, Reason: campaign.InvalidPhone, Note: "no number", Cells: []string{"x", "y"}}},
		Connections: []launch.ConnectionCheck{{ID: "conn_1", Phone: "+4930123456", Quality: "GREEN", Tier: "TIER_10K", Pace: 72}}}
	text := w.request(w.step("check"), "admin", nil).Body.String()
	for _, want := range []string{"When it would be done", "in eight of ten cases between", "8\u202f589\u202f934\u202f592",
		"One more number: 30 minutes sooner.", "80 a second is assumed", "conn_1, &#43;4930123456, GREEN, TIER_10K, 72 a second",
		"Download the 2 rows", "/rejects.csv"} {
		if !strings.Contains(text, want) {
			t.Errorf("got a page without %q: %s", want, text)
		}
	}
}

// The rows come with their reasons, and can be uploaded again.
func TestFaultyRowsAreDownloaded(t *testing.T) {
	w := newWorld(t)
	w.upload(t, "l.csv", "phone;first_name\n+2348031234560;Nia\n0803;Ada\n+2348031234561;=1+1\nx;\"a;b\"\n")
	got := w.request(w.step("rejects.csv"), "admin", nil)
	if want := "phone;first_name;reject_line;reject_reason;reject_note\n0803;Ada;3;invalid_phone;"; got.Code != http.StatusOK ||
		!strings.HasPrefix(got.Body.String(), want) || strings.Contains(got.Body.String(), "Nia") {
		t.Errorf("got %d %s, want it to begin with %s", got.Code, got.Body, want)
	}
	if !strings.Contains(got.Header().Get("Content-Disposition"), `filename="rejects.csv"`) {
		t.Errorf("got the headers %v, want a file", got.Header())
	}
	w.upload(t, "zip.csv", "PK\x03\x04\x14\x00\x06\x00")
	if got := w.request(w.step("rejects.csv"), "admin", nil); got.Code != http.StatusConflict ||
		strings.Contains(got.Body.String(), w.process.Uploads.Dir()) {
		t.Errorf("a list that cannot be read: got %d %s, want 409 and no folder of the server", got.Code, got.Body)
	}
}

// The line stands before the fault, as it does on the command line.
func TestAFaultOfTheListNamesItsLine(t *testing.T) {
	w := newWorld(t)
	where := filepath.Join(w.process.Uploads.Dir(), "x", "bad.csv")
	w.found = &launch.Preflight{Findings: []file.Finding{{Level: file.LevelError, Where: where + ":14",
		What: "the quote opened here is never closed", Remedy: "close it"}, {Level: file.LevelError, Where: "c.yaml:4:2", What: "it has two"}}}
	text := w.request(w.step("check"), "admin", nil).Body.String()
	if !strings.Contains(text, "bad.csv:14</code>: the quote opened here is never closed.</strong> Close it.") ||
		!strings.Contains(text, "<strong>It has two.</strong>") {
		t.Errorf("got %s, want the line before the fault", text)
	}
}

func TestAPhoneShowsTheWholeMessage(t *testing.T) {
	def, err := file.Parse("c.yaml", []byte("name: c\nconnections: [conn_1]\n"+
		"template: {name: a, language: en, header: {image: {file: img/sale.png}}}\nrecipients: {file: l.csv}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := &launch.Sample{Message: &messaging.Message{ConnectionID: "conn_1", Template: &messaging.Template{Body: []string{"Nia"}}},
		Text: "Hello Nia", Pieces: []file.Piece{{Text: "Hello "}, {Text: "Nia", Filled: true}}, Header: "Sale", Footer: "Bye",
		Buttons: []string{"Shop"}}
	found := &launch.Preflight{Connections: []launch.ConnectionCheck{{ID: "conn_1", Phone: "+4930123456"}}}
	p := phoneOf(campaign.Draft{ID: "d"}, &operator.Prepared{File: operator.File{Definition: def}}, found, s)
	w := newWorld(t)
	var b strings.Builder
	if err := w.pages["new_check"].ExecuteTemplate(&b, "phone", p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&#43;4930123456", `src="/console/new/d/header" alt="Header: sale.png"`, "<strong>Sale</strong>",
		"Hello <mark>Nia</mark>", `class="foot">Bye<`, `class="action">Shop<`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got %s, want %s", b.String(), want)
		}
	}
}

// An image of the campaigns folder is shown; another file is not.
func TestAHeaderIsAnImageOrNothing(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	source := []byte(strings.Replace(winter, "language: en,", "language: en, header: {image: {file: sale.png}},", 1))
	def, err := file.Parse("winter.yaml", source)
	if err != nil {
		t.Fatal(err)
	}
	w.Server.process.Folder = func() ([]operator.File, error) {
		return []operator.File{{Path: filepath.Join(dir, "winter.yaml"), Source: source, Definition: def}}, nil
	}
	if got := w.request(w.step("header"), "admin", nil); got.Code != http.StatusNotFound {
		t.Errorf("a draft without a header: got %d, want 404", got.Code)
	}
	dr, err := w.session.Ledger.Draft(t.Context(), w.draft)
	if err != nil {
		t.Fatal(err)
	}
	dr.Source = source
	if err := w.session.ChangeDraft(t.Context(), dr); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{"\x89PNG\r\n\x1a\nrest": http.StatusOK, "<script>alert(1)</script>": http.StatusNotFound,
		"<svg onload=alert(1)>": http.StatusNotFound} {
		if err := os.WriteFile(filepath.Join(dir, "sale.png"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := w.request(w.step("header"), "admin", nil)
		if kind := got.Header().Get("Content-Type"); got.Code != want || want == http.StatusOK && kind != "image/png" {
			t.Errorf("%q: got %d %s, want %d", text, got.Code, kind, want)
		}
	}
}
