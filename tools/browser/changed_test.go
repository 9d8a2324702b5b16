package browser

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// numbered is a list of more than one part, which differs from another one in each row.
func numbered(name string) string {
	var b strings.Builder
	b.WriteString("phone,first_name,discount,slug\n")
	for i := range 260_000 { // 9 MiB; a part has 8
		fmt.Fprintf(&b, "+23480%08d,%s,15 %%,s%08d\n", i, name, i)
	}
	return b.String()
}

// A file that is written anew between two of its parts is told to have changed, and the draft keeps
// the list of before. Chosen again, the file as it is now is taken.
func TestAListThatChangesWhileItIsSentIsTold(t *testing.T) {
	t.Parallel()
	s := serve(t, false)
	s.write("campaigns/winter.yaml", winter)
	ctx, _ := start(t, s.console)
	h := &hand{s, ctx, false, true}
	h.signIn(s.key("ann", "operate"))
	h.press("New campaign")
	h.press("Choose winter")
	page := evaluate[string](t, ctx, "location.pathname")
	held := make(chan fetch.RequestID, 100)
	if err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*fetch.EventRequestPaused); ok {
			held <- e.RequestID
		}
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		later time.Duration // of the file's time
		told  string
	}{
		{time.Hour, "The file was changed, moved or deleted while it was sent, so nothing of it is used. Choose it again."},
		// The browser compares the file's times in seconds: it misses a change of the same second.
		{0, "The list changed while it was sent, or two were sent at once; upload it again."},
	} {
		s.write("list.csv", numbered("Nia"))
		was, err := os.Stat(s.path("list.csv"))
		if err != nil {
			t.Fatal(err)
		}
		h.open(ctx, page)
		call(h, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/part?offset=*"}}})
		if err := chromedp.Do(ctx, chromedp.SetUploadFiles("#list", []string{s.path("list.csv")})); err != nil {
			t.Fatal(err)
		}
		h.reach("Upload")
		call(h, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: h.received(held)})
		second := h.received(held) // the browser has not read it
		s.write("list.csv", numbered("Ada"))
		if err := os.Chtimes(s.path("list.csv"), was.ModTime().Add(c.later), was.ModTime().Add(c.later)); err != nil {
			t.Fatal(err)
		}
		call(h, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: second})
		call(h, fetch.Disable, cdp.Empty{})
		h.sees(c.told)
	}
	h.open(ctx, page)
	h.uploads(s.path("list.csv"))
	h.sees("Columns of list.csv")
	if text := evaluate[string](t, ctx, "document.body.innerText"); !strings.Contains(text, "Ada") || strings.Contains(text, "Nia") {
		t.Errorf("got %s, want the file as it is now", text)
	}
	h.goesOnAfterABreak(page, held)
	h.refusesAtOnce(page, held)
}

// goesOnAfterABreak has the connection break within the second of the parts of a list: the page
// sends it again by itself, and the list is whole.
func (h *hand) goesOnAfterABreak(page string, held <-chan fetch.RequestID) {
	h.t.Helper()
	h.write("list.csv", numbered("Uma"))
	h.open(h.ctx, page)
	call(h, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/part?offset=*"}}})
	if err := chromedp.Do(h.ctx, chromedp.SetUploadFiles("#list", []string{h.path("list.csv")})); err != nil {
		h.t.Fatal(err)
	}
	evaluate[bool](h.t, h.ctx, "window.before = true")
	h.reach("Upload")
	call(h, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: h.received(held)})
	call(h, fetch.FailRequest, fetch.FailRequestParams{RequestID: h.received(held), ErrorReason: network.ErrorReasonConnectionReset})
	h.sees("The upload goes on by itself.")
	call(h, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: h.received(held)})
	call(h, fetch.Disable, cdp.Empty{})
	h.until(h.ctx, "the page after the upload", "!window.before && "+ready)
	h.sees("Columns of list.csv")
	if text := evaluate[string](h.t, h.ctx, "document.body.innerText"); !strings.Contains(text, "Uma") {
		h.t.Errorf("after a broken connection: got %s, want the list that was sent", text)
	}
}

// refusesAtOnce gives the page a list of 5 GiB, and then one that can be sent.
func (h *hand) refusesAtOnce(page string, held <-chan fetch.RequestID) {
	h.t.Helper()
	h.write("huge.csv", "")
	if err := os.Truncate(h.path("huge.csv"), 5<<30); err != nil {
		h.t.Fatal(err)
	}
	h.open(h.ctx, page)
	call(h, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/part?offset=*"}}})
	if err := chromedp.Do(h.ctx, chromedp.SetUploadFiles("#list", []string{h.path("huge.csv")})); err != nil {
		h.t.Fatal(err)
	}
	h.reach("Upload")
	h.sees("A list has at most 4 GiB")
	call(h, fetch.Disable, cdp.Empty{})
	if n := len(held); n > 0 {
		h.t.Errorf("a list of 5 GiB: got %d parts sent, want none", n)
	}
	h.uploads(h.path("list.csv"))
	h.sees("Columns of list.csv")
}

// received waits for a request that is held back.
func (h *hand) received(from <-chan fetch.RequestID) fetch.RequestID {
	h.t.Helper()
	select {
	case id := <-from:
		return id
	case <-time.After(longest):
	}
	h.t.Fatalf("got no request within %v, want the next part", longest)
	return ""
}

// call sends a command to the browser.
func call[P, R any](h *hand, c cdp.Command[P, R], p P) {
	h.t.Helper()
	if _, err := chromedp.Call(h.ctx, c, p); err != nil {
		h.t.Fatal(err)
	}
}
