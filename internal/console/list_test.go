package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"campaignd/internal/uploads"
)

// sumOf is what the script of the page computes of a file.
func sumOf(text string) string {
	sum, _ := uploads.Sum(context.Background(), strings.NewReader(text)) // a string is always read
	return sum
}

// part sends a part of a list as the script does.
func (w *world) part(offset int, text string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, w.step("part")+fmt.Sprint("?offset=", offset), strings.NewReader(text))
	r.Header.Set("Content-Type", "application/octet-stream")
	r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
	got := httptest.NewRecorder()
	w.ServeHTTP(got, r)
	return got.Code, strings.TrimSpace(got.Body.String())
}

// ends sends the form after the last part.
func (w *world) ends(name, sum string) *httptest.ResponseRecorder {
	return w.request(w.step("list"), "admin", url.Values{"name": {name}, "sum": {sum}})
}

// staged returns the lists on the disk, without that of the draft.
func (w *world) staged(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(w.process.Uploads.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "staged-"+w.draft {
			names = append(names, e.Name())
		}
	}
	return names
}

// The length is known from the request, and nothing is stored before it is judged. A request
// without a length stops at the bound.
func TestAListThatIsTooLargeIsRefusedEarly(t *testing.T) {
	w := newWorld(t)
	w.process.Uploads.Limit = 64 << 10
	text := w.request(w.step("list"), "admin", nil).Body.String()
	const told = "A list has at most 64 KiB; divide it, and send each part as a campaign of its own."
	if !strings.Contains(text, `data-most="65536"`) || !strings.Contains(text, `data-large="`+told+`"`) {
		t.Errorf("got %s, want the bound and its sentence for the script", text)
	}
	for what, length := range map[string]int64{"with its length": 0, "without a length": -1} {
		body := &watchedBody{Reader: strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"list\"; filename=\"l.csv\"\r\n\r\n" +
			strings.Repeat("+2348031234560\n", 10_000) + "\r\n--x--\r\n"), staged: func() int { return len(w.staged(t)) }}
		r := httptest.NewRequest(http.MethodPost, w.step("list"), body)
		if r.ContentLength = length; length == 0 {
			r.ContentLength = body.Size()
		}
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.AddCookie(&http.Cookie{Name: cookie, Value: w.cookies["admin"]})
		got := httptest.NewRecorder()
		w.ServeHTTP(got, r)
		if got.Code != http.StatusRequestEntityTooLarge || !strings.Contains(got.Body.String(), told) || body.Len() > 0 {
			t.Errorf("%s: got %d %s with %d bytes unread, want 413, the bound and all read", what, got.Code, got.Body, body.Len())
		}
		if stored := body.most > 0; stored != (length < 0) {
			t.Errorf("%s: got files while the list came: %v, want %v", what, stored, length < 0)
		}
	}
	if code, answer := w.part(0, strings.Repeat("x", 64<<10)); code != http.StatusOK {
		t.Fatalf("a part of the bound: got %d %s, want it taken", code, answer)
	}
	if code, answer := w.part(64<<10, "x"); code != http.StatusRequestEntityTooLarge || !strings.Contains(answer, told) {
		t.Errorf("a part beyond the bound: got %d %s, want 413 and the bound", code, answer)
	}
	if left := w.staged(t); len(left) > 0 {
		t.Errorf("got the files %q afterwards, want the draft's list of before alone", left)
	}
}

// watchedBody notes how many lists are on the disk while it is read.
type watchedBody struct {
	*strings.Reader
	staged func() int
	most   int
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.most = max(b.most, b.staged())
	return b.Reader.Read(p[:min(len(p), 8<<10)])
}

// A file that changes while its parts are sent, or two files that are sent at once, never become
// one list: the script reads the file once more, and the list of before stays.
func TestAListThatChangesWhileItIsSentIsRefused(t *testing.T) {
	w := newWorld(t)
	first, second := "phone;name\n+2348031234560;Nia\n", "phone;name\n+2348031234561;Ada\n"
	was := w.request(w.step("columns"), "admin", nil).Body.String()
	for what, sum := range map[string]string{"changed": sumOf(second), "as it was": sumOf(first), "no sum": ""} {
		if code, answer := w.part(0, first[:27]); code != http.StatusOK {
			t.Fatalf("the first part: got %d %s", code, answer)
		}
		if code, answer := w.part(27, second[27:]); code != http.StatusOK {
			t.Fatalf("the second part: got %d %s", code, answer)
		}
		got := w.ends("l.csv", sum)
		if got.Code != http.StatusConflict || !strings.Contains(strings.ToLower(got.Body.String()), "upload it again") {
			t.Errorf("%s: got %d %s, want 409 and what to do", what, got.Code, got.Body)
		}
	}
	if got := w.request(w.step("columns"), "admin", nil).Body.String(); got != was {
		t.Errorf("afterwards: got %s, want the list of before", got)
	}
	w.part(0, second)
	for _, again := range []string{"", ", sent again"} {
		if got := w.ends("l.csv", sumOf(second)); got.Header().Get("Location") != w.step("columns") {
			t.Errorf("the second file whole%s: got %d %s, want the columns", again, got.Code, got.Body)
		}
	}
	text := w.request(w.step("columns"), "admin", nil).Body.String()
	if !strings.Contains(text, "2348031234561") || strings.Contains(text, "2348031234560") {
		t.Errorf("got %s, want the second file alone", text)
	}
}

// A draft is in the ledger, so that the console of an intake has its page, too.
func TestAProcessThatSendsNothingTakesNoList(t *testing.T) {
	w := newWorld(t)
	w.process.Uploads.Closed = true
	const want = "This process sends nothing, so it takes no list."
	if code, answer := w.part(0, "phone\n"); code != http.StatusServiceUnavailable || !strings.Contains(answer, want) {
		t.Errorf("a part: got %d %s, want 503 with %q", code, answer, want)
	}
	if got := w.staged(t); len(got) != 0 {
		t.Errorf("got the lists %v, want none", got)
	}
}
