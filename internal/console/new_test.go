package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/uploads"
)

// step is the address of a step of the draft of admin.
func (w *world) step(name string) string { return "/console/new/" + w.draft + "/" + name }

// upload sends a list as a browser without script does.
func (w *world) upload(t *testing.T, name, text string) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("list", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(text)) // a buffer takes it
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, w.step("list"), &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
	got := httptest.NewRecorder()
	w.ServeHTTP(got, r)
	return got
}

// meanwhile does something while the body of a request comes.
type meanwhile struct {
	io.Reader
	do func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.Reader.Read(p)
}

// A list may take hours to come. The changes of another page in that time stay.
func TestAListThatComesSlowlyKeepsWhatWasDone(t *testing.T) {
	w := newWorld(t)
	send := func(do func()) *httptest.ResponseRecorder {
		form := "--x\r\nContent-Disposition: form-data; name=\"list\"; filename=\"new.csv\"\r\n\r\nphone,given\n+2348031234560,Ada\n\r\n--x--\r\n"
		r := httptest.NewRequest(http.MethodPost, w.step("list"), &meanwhile{strings.NewReader(form), do})
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
		got := httptest.NewRecorder()
		w.ServeHTTP(got, r)
		return got
	}
	if got := send(func() {
		w.request(w.step("columns"), "admin", url.Values{"column-to": {"phone"}, "column-first_name": {"given"}})
	}); got.Code != http.StatusSeeOther {
		t.Fatalf("got %d %s, want the list taken", got.Code, got.Body)
	}
	dr, err := w.session.Ledger.Draft(t.Context(), w.draft)
	if err != nil || dr.ListName != "new.csv" || !strings.Contains(string(dr.Source), "given") {
		t.Errorf("got the list %s of %q and %v, want new.csv and the column that was chosen meanwhile", dr.ListName, dr.Source, err)
	}
	got := send(func() { w.request(w.step("send"), "admin", url.Values{}) })
	if to := got.Header().Get("Location"); to != runPath("spring-1") {
		t.Errorf("a list that comes after the draft was sent leads to %q, want %s", to, runPath("spring-1"))
	}
	if dr, err = w.session.Ledger.Draft(t.Context(), w.draft); err != nil || dr.Run != "spring-1" {
		t.Errorf("got a draft of the run %q and %v, want that it stays sent", dr.Run, err)
	}
}

func TestADraftIsOfTheKeyThatBeganIt(t *testing.T) {
	w := newWorld(t)
	for _, step := range []string{"list", "columns", "check", "send", "campaign.yaml"} {
		if got := w.request(w.step(step), "operate", nil); got.Code != http.StatusNotFound {
			t.Errorf("%s with another key: got %d, want 404", step, got.Code)
		}
		if got := w.request(w.step(step), "admin", nil); got.Code != http.StatusOK {
			t.Errorf("%s: got %d %s, want the page", step, got.Code, got.Body)
		}
	}
	if text := w.request("/console/new", "operate", nil).Body.String(); strings.Contains(text, w.draft) || !strings.Contains(text, "winter") {
		t.Error("the page of another key: want the campaign, and not the draft")
	}
}

func TestADraftIsSentOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		got := w.request(w.step("send"), "admin", url.Values{"another": {"1"}})
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console/runs/spring-1" {
			t.Errorf("try %d: got %d to %s, want the run", i+1, got.Code, got.Header().Get("Location"))
		}
	}
	if w.launched != 1 {
		t.Errorf("got %d launches, want 1", w.launched)
	}
	for _, step := range []string{"list", "columns", "check", "send"} { // Back
		if got := w.request(w.step(step), "admin", nil); got.Header().Get("Location") != "/console/runs/spring-1" {
			t.Errorf("%s afterwards: got %d to %q, want the run", step, got.Code, got.Header().Get("Location"))
		}
	}
}

func TestARefusedLaunchIsToldAndNotSent(t *testing.T) {
	w := newWorld(t)
	w.refusal = &launch.PreflightError{Preflight: &launch.Preflight{Campaign: "winter",
		Findings: []file.Finding{{Level: file.LevelError, What: "the template is paused"}}}}
	got := w.request(w.step("send"), "admin", url.Values{})
	if text := got.Body.String(); got.Code != http.StatusConflict || !strings.Contains(text, "template is paused") ||
		strings.Contains(text, w.process.Uploads.Dir()) {
		t.Errorf("got %d %s, want the reason, and no folder of the server", got.Code, text)
	}
	if got := w.request(w.step("check"), "admin", nil); got.Code != http.StatusOK {
		t.Errorf("the draft afterwards: got %d, want it as it was", got.Code)
	}
}

// A list of any length comes in parts, and a page that was left goes on where it was.
func TestAListComesInParts(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		offset int
		text   string
		code   int
		answer string
	}{{0, "phone;Fir", 200, `{"received":9}`}, {7, "x", 409, `{"received":9}`}, {9, "st Name\n+2348031234560;Nia\n", 200, `{"received":36}`}} {
		if code, answer := w.part(c.offset, c.text); code != c.code || answer != c.answer {
			t.Errorf("a part at %d: got %d %s, want %d %s", c.offset, code, answer, c.code, c.answer)
		}
	}
	got := w.ends(`C:\lists\l.csv`, sumOf("phone;First Name\n+2348031234560;Nia\n"))
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != w.step("columns") {
		t.Errorf("the whole list: got %d to %s, want the columns", got.Code, got.Header().Get("Location"))
	}
	text := w.request(w.step("columns"), "admin", nil).Body.String()
	if !strings.Contains(text, "<option selected>First Name</option>") || !strings.Contains(text, "Nia") ||
		!strings.Contains(text, "Columns of l.csv") {
		t.Errorf("got %s, want the column of the same name proposed, and its first row", text)
	}
}

func TestOddListsAreToldInASentence(t *testing.T) {
	w := newWorld(t)
	utf16 := "\xff\xfe"
	for _, r := range "phone\n+2348031234560\n" {
		utf16 += string(r) + "\x00"
	}
	for name, c := range map[string]struct{ text, at, want string }{
		"empty.csv":   {"", "list", "The file is empty"},
		"zip.csv":     {"PK\x03\x04\x14\x00\x06\x00", "columns", "cannot be read"},
		"header.csv":  {"+2348031234560;Nia\n+2348031234561;Ada\n", "columns", ""},
		"one.csv":     {"phone\n+2348031234560\n", "columns", "Choose a column of the list"},
		"🎉 utf16.csv": {utf16, "columns", "2348031234560"},
		"bom.csv":     {"\ufeffphone;first_name\n+2348031234560;Nia\n", "columns", "Nia"},
		"only.csv":    {"phone;first_name\n", "columns", "has a header and no rows"},
		"columns.csv": {"phone" + strings.Repeat(";c", 199) + "\n+2348031234560" + strings.Repeat(";v", 199) + "\n", "columns",
			"Columns of columns.csv"},
		strings.Repeat("n", 500) + ".csv": {"phone;first_name\n+2348031234560;Nia\n", "columns", "Nia"},
	} {
		got := w.upload(t, name, c.text)
		if c.at == "columns" {
			if got.Code != http.StatusSeeOther {
				t.Errorf("%.20s: got %d %s, want it taken", name, got.Code, got.Body)
			}
			got = w.request(w.step("columns"), "admin", nil)
		}
		if text := got.Body.String(); got.Code >= 500 || !strings.Contains(text, c.want) || unsafe(text) != "" {
			t.Errorf("%.20s: got %d %s, want %q", name, got.Code, text, c.want)
		}
	}
	if got := w.request(w.step("list"), "admin", url.Values{}); got.Code != http.StatusBadRequest {
		t.Errorf("a form without a file: got %d, want 400", got.Code)
	}
}

func TestColumnsBecomeThoseOfTheCampaign(t *testing.T) {
	w := newWorld(t)
	got := w.request(w.step("columns"), "admin", url.Values{"column-to": {"phone"}, "column-first_name": {"First Name"},
		"column-other": {"x"}})
	if got.Header().Get("Location") != w.step("check") {
		t.Fatalf("got %d to %q, want the check", got.Code, got.Header().Get("Location"))
	}
	text := w.request(w.step("campaign.yaml"), "admin", nil).Body.String()
	d, err := file.Parse("c.yaml", []byte(text))
	if err != nil || fmt.Sprint(d.Recipients.Columns["first_name"]) != "[First Name]" || len(d.Recipients.Columns["other"]) != 0 {
		t.Errorf("got %s (%v), want the columns of the fields", text, err)
	}
}

func TestOneClassOfFaultIsShownAtATime(t *testing.T) {
	w := newWorld(t)
	w.found = &launch.Preflight{Rows: 3, Findings: []file.Finding{{Level: file.LevelError, What: "the template is paused", Remedy: "wait"},
		{Level: file.LevelWarning, What: "a small thing"}}}
	text := w.request(w.step("check"), "admin", nil).Body.String()
	if !strings.Contains(text, "The template is paused.") || strings.Contains(text, "small thing") || strings.Contains(text, "Go on to send") {
		t.Errorf("got %s, want the template's fault alone", text)
	}
	w.checks.forget()
	w.found = &launch.Preflight{Header: []string{"phone"}, Rows: 1, Examples: []campaign.Reject{{Line: 2, Reason: campaign.InvalidPhone,
		Note: "too short", Cells: []string{"+234"}}}, Findings: []file.Finding{{Level: file.LevelError, What: "its only row cannot be sent",
		Remedy: "`campaignd check` lists the rows"}}}
	text = w.request(w.step("check"), "admin", nil).Body.String()
	if !strings.Contains(text, "Too short.") || strings.Contains(text, "campaignd check") {
		t.Errorf("got %s, want the row, and no command of a shell", text)
	}
	if got := w.request(w.step("send"), "admin", nil); got.Header().Get("Location") != w.step("check") {
		t.Errorf("send: got %d to %q, want the check", got.Code, got.Header().Get("Location"))
	}
	w.checks.forget()
	w.found = &launch.Preflight{Rows: 1_000, Sendable: 1_000, Launch: &launch.Check{Does: "launches"}}
	text = w.request(w.step("send"), "admin", nil).Body.String()
	if !strings.Contains(text, "Send 1\u202f000 messages") || strings.Contains(text, `name="another"`) {
		t.Errorf("got %s, want the number on the button, and nothing to confirm", text)
	}
	w.checks.forget()
	w.found.Launch = (&launch.ScheduledError{File: "o.yaml", At: time.Date(2099, 1, 2, 9, 0, 0, 0, time.UTC)}).Check()
	text = w.request(w.step("send"), "admin", nil).Body.String()
	if !strings.Contains(text, "The schedule sends this list too") || !strings.Contains(text, "2 Jan 2099, 09:00 UTC") ||
		!strings.Contains(text, `name="another"`) {
		t.Errorf("got %s, want the time of the schedule, and the launch to confirm", text)
	}
}

// The answer comes when the browser has sent everything, and the list holds no space.
func TestAListWithoutSpaceIsReadToItsEnd(t *testing.T) {
	w := newWorld(t)
	dir := w.process.Uploads.Dir()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for part := range 4 { // as much has come of other lists as may come, which leaves no byte
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("staged-", part)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(uploads.MaxList), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	body := strings.NewReader(strings.Repeat("+2348031234560\n", 100_000))
	r := httptest.NewRequest(http.MethodPost, w.step("part")+"?offset=0", body)
	r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
	got := httptest.NewRecorder()
	w.ServeHTTP(got, r)
	if got.Code != http.StatusInsufficientStorage || !strings.Contains(got.Body.String(), "no space for the list") || body.Len() > 0 {
		t.Errorf("a part: got %d %s with %d bytes unread, want 507, what to do, and all read", got.Code, got.Body, body.Len())
	}
	if got := w.upload(t, "l.csv", "phone\n+2348031234560\n"); got.Code != http.StatusInsufficientStorage ||
		!strings.Contains(got.Body.String(), "make room") {
		t.Errorf("a whole list: got %d %s, want 507 and what to do", got.Code, got.Body)
	}
	if _, err := w.process.Uploads.Look(w.draft); err == nil {
		t.Error("got a list afterwards, want its space free")
	}
}

// A process that does not have the list, such as another replica, asks for it again.
func TestAListThatIsNotThereIsAskedFor(t *testing.T) {
	w := newWorld(t)
	if err := w.process.Uploads.Remove(w.draft); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"columns", "check", "send"} {
		got := w.request(w.step(step), "admin", nil)
		if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "Upload it again") {
			t.Errorf("%s: got %d, want 409 and what to do", step, got.Code)
		}
	}
}

// The campaign file that is downloaded has the value, and so has the message of the row.
func TestAnEmptyCellGetsTheDefault(t *testing.T) {
	w := newWorld(t)
	w.upload(t, "l.csv", "phone;First Name\n+2348031234560;\n")
	form := url.Values{"column-to": {"phone"}, "column-first_name": {"First Name"}, "default-first_name": {"you: \"all\""},
		"default-to": {"x"}}
	if got := w.request(w.step("columns"), "admin", form); got.Code != http.StatusSeeOther {
		t.Fatalf("got %d %s, want the check", got.Code, got.Body)
	}
	d, err := file.Parse("winter.yaml", w.request(w.step("campaign.yaml"), "admin", nil).Body.Bytes())
	if err != nil || d.Variables["first_name"].Default != `you: "all"` || len(d.Variables) != 1 {
		t.Errorf("got the variables %+v (%v), want the default of first_name alone", d.Variables, err)
	}
	w.found = &launch.Preflight{Rows: 1, Sendable: 1}
	if text := w.request(w.step("check"), "admin", nil).Body.String(); !strings.Contains(text, "you: &#34;all&#34;") {
		t.Errorf("got %s, want the message with the default", text)
	}
	if text := w.request(w.step("columns"), "admin", nil).Body.String(); !strings.Contains(text, `value="you: &#34;all&#34;"`) {
		t.Errorf("got %s, want the default in the form", text)
	}
	form.Set("default-first_name", "")
	w.request(w.step("columns"), "admin", form)
	if text := w.request(w.step("campaign.yaml"), "admin", nil).Body.String(); strings.Contains(text, "you:") {
		t.Errorf("got %s, want no default", text)
	}
}
