package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaignd/reporting/html"
)

// The plots of a long run take a while, and a page does not wait for them again and again.
func TestPlotsAreKeptForAllWhoLook(t *testing.T) {
	w := newWorld(t)
	now := time.Now()
	w.courses.slowest = time.Minute // a slow machine draws them too
	w.courses.put(watched{"spring-1", ""}, course{parts: []html.Part{{ID: "kept", Title: "Kept for now"}}, until: now.Add(time.Hour)})
	for name, want := range map[string]bool{"admin": true, "read": true} {
		if text := w.request("/console/runs/spring-1", name, nil).Body.String(); strings.Contains(text, "Kept for now") != want {
			t.Errorf("%s: got the plots that are kept: %v, want %v", name, !want, want)
		}
	}
	w.courses.put(watched{"spring-1", ""}, course{parts: []html.Part{{ID: "kept", Title: "Kept for now"}}, until: now.Add(-time.Second)})
	w.watch.forget()
	if strings.Contains(w.request("/console/runs/spring-1", "admin", nil).Body.String(), "Kept for now") {
		t.Error("after their time: got the plots that were kept, want new ones")
	}
	w.courses.slowest = time.Nanosecond
	w.courses.put(watched{"spring-1", ""}, course{parts: []html.Part{{ID: "kept", Title: "Kept for now"}}, until: now.Add(-time.Second)})
	w.watch.forget()
	if got := w.request("/console/runs/spring-1", "admin", nil); got.Code != 200 || !strings.Contains(got.Body.String(), "Kept for now") {
		t.Errorf("new ones take too long: got %d, want the page with those from before", got.Code)
	}
	delete(w.courses.kept, watched{"spring-1", ""})
	w.watch.forget()
	const late = "<p class=\"w12 late soft\" data-late>The plots of this run are being drawn."
	if got := w.request("/console/runs/spring-1", "admin", nil); got.Code != 200 || !strings.Contains(got.Body.String(), late) {
		t.Errorf("the first ones take too long: got %d %s, want the page with a line in their place", got.Code, got.Body)
	}
	w.courses.slowest = time.Minute
	delete(w.courses.kept, watched{"spring-1", ""})
	w.watch.forget()
	if strings.Contains(w.request("/console/runs/spring-1", "admin", nil).Body.String(), "data-late") {
		t.Error("plots in time: got the line for late ones, want none")
	}
	for i := range 3 * mostCourses {
		w.courses.put(watched{fmt.Sprint(i), ""}, course{})
	}
	if n := len(w.courses.kept); n > mostCourses {
		t.Errorf("got the plots of %d runs, want at most %d", n, mostCourses)
	}
}
