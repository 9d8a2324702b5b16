package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Times are in the zone of the viewer, and each names it; without script they are in UTC.
func TestTimesAreInTheZoneOfTheViewer(t *testing.T) {
	t.Parallel()
	s := serve(t, true)
	ctx, _ := start(t, s.console)
	zone := emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"}
	if _, err := chromedp.Call(ctx, emulation.SetTimezoneOverride, zone); err != nil {
		t.Fatal(err)
	}
	s.signIn(ctx, s.key("ann", "read"))
	s.open(ctx, "/console/runs/spring-sale-1")
	s.zones(ctx, "GMT+5:30", 330*time.Minute)
	// The plot of a run that lasts longer has its times on an axis.
	axis := evaluate[string](t, ctx, `(() => { const d = document.createElement("div"); d.innerHTML = "<svg>" +
		["12:00", "18:30", "00:00:30"].map(t => "<text data-at='2026-03-02T" + t.slice(0, 5) + ":" + (t.slice(6) || "00") + "Z'>" + t +
		"</text>").join("") +
		"<text data-at='2026-03-03T00:00:00Z'>3 Mar</text></svg><span data-zone>times in UTC</span>";
		inZone(d); return [...d.querySelectorAll("text, span")].map(e => e.textContent).join(", ") })()`)
	if want := "17:30, 3 Mar, 05:30:30, 3 Mar 05:30, times in GMT+5:30"; axis != want {
		t.Errorf("the axis of a plot: got %q, want %q", axis, want)
	}
	withoutScript(t, ctx)
	s.open(ctx, "/console/runs/spring-sale-1")
	s.zones(ctx, "UTC", 0)
}

// zones judges each time of the page that is open.
func (s *served) zones(ctx context.Context, name string, offset time.Duration) {
	s.t.Helper()
	times := evaluate[[]string](s.t, ctx, `[...document.querySelectorAll("time[datetime]")].map(e => e.dateTime + " " + e.textContent)`)
	if len(times) < 2 {
		s.t.Errorf("got the times %q, want two or more", times)
	}
	for _, one := range times {
		at, text, _ := strings.Cut(one, " ")
		when, err := time.Parse(time.RFC3339, at)
		if want := fmt.Sprint(when.Add(offset).Format("15:04"), " ", name); err != nil || !strings.HasSuffix(text, want) {
			s.t.Errorf("got %q (%v), want it to end with %s", one, err, want)
		}
	}
}
