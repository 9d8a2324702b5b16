package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// scriptLate is how late the script of a page comes on a slow line.
const scriptLate = 300 * time.Millisecond

// slowLine has the script of each page come late, as it does on a first visit, and holds the font
// back, whose requests it returns.
func slowLine(h *hand) (fonts <-chan fetch.RequestID) {
	h.t.Helper()
	held := make(chan fetch.RequestID, 100)
	if err := chromedp.Listen(h.ctx, func(event any) {
		e, ok := event.(*fetch.EventRequestPaused)
		switch {
		case !ok:
		case strings.HasSuffix(e.Request.URL, ".woff2"):
			held <- e.RequestID
		default:
			time.AfterFunc(scriptLate, func() { // the tab may be closed by then
				_, _ = chromedp.Call(h.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			})
		}
	}); err != nil {
		h.t.Fatal(err)
	}
	call(h, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{URLPattern: "*/console/assets/*.js"},
		{URLPattern: "*/console/assets/*.woff2"}}})
	return held
}

// openSlowly opens a page, and lets its font come when the page has been painted.
func (h *hand) openSlowly(path string, fonts <-chan fetch.RequestID) {
	h.t.Helper()
	evaluate[bool](h.t, h.ctx, "window.before = true")
	evaluate[string](h.t, h.ctx, `location.href = "`+path+`"`)
	h.until(h.ctx, path, `!window.before && performance.getEntriesByName("first-contentful-paint").length > 0`)
	call(h, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: h.received(fonts)})
	h.until(h.ctx, "the font of "+path, `document.readyState == "complete" &&
		performance.getEntriesByType("resource").some(e => e.name.endsWith(".woff2"))`)
}

// inFont says whether a new text of the page would have its font.
const inFont = `(() => { const [named, other] = ["'Source Sans 3', monospace", "monospace"].map(font => {
	const s = document.createElement("span"); s.textContent = "rows"; s.style.fontFamily = font; document.body.append(s);
	const wide = s.getBoundingClientRect().width; s.remove(); return wide });
	return named != other })()`

// A page that a person has begun to read stays where it is when its script and its font arrive: the
// script, which gives times the zone of the viewer, comes before the first paint, and a font that
// comes after it is for the next page.
func TestAPageStaysWhereItIsOnASlowLine(t *testing.T) {
	t.Parallel()
	s := busy(t)
	ctx, _ := start(t, s.console)
	h := &hand{s, ctx, false, true}
	call(h, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	call(h, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	s.signIn(ctx, s.key("ann", "admin"))
	fonts := slowLine(h)
	for _, width := range []int64{1440, 390} {
		screen(t, ctx, "light", width)
		for _, path := range []string{"/console/overview", "/console/runs", "/console/runs/spring-sale-1", "/console/runs/autumn-2",
			"/console/keys", "/console/log", "/console/holds", "/console/person?to=%2B2348035550201"} {
			h.openSlowly(path, fonts)
			if got := s.shifts(ctx); len(got) > 0 {
				t.Errorf("%s, %d px: got the layout shifts %q, want none", path, width, got)
			}
			if evaluate[bool](t, ctx, inFont) {
				t.Errorf("%s, %d px: the font came after the first paint and is in use; want it on the next page", path, width)
			}
		}
	}
	call(h, fetch.Disable, cdp.Empty{})
	call(h, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: false})
	for end := time.Now().Add(longest); ; {
		s.open(ctx, "/console/overview")
		if evaluate[bool](t, ctx, inFont) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("on the next pages, for %v: the font is not in use, want it", longest)
		}
	}
}
