package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
)

// People of the list got the template before: the last page says so and offers both choices, and so
// does the answer to a form without one.
func TestPeopleWhoGotTheTemplateAreChosenAbout(t *testing.T) {
	w := newWorld(t)
	sent := launch.SentBefore{People: 599, Of: 998, Since: time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), Runs: []string{"summer-4"}}
	w.found = &launch.Preflight{Rows: 998, Sendable: 998, SentBefore: &sent, Launch: &launch.Check{Does: launch.Refuses, Run: "summer-4"}}
	const said = "599 of 998 got this template since 3 November, from summer-4."
	const leaveOut, again = `name="sent_before" value="leave_out"`, `name="sent_before" value="send"`
	text := w.request(w.step("send"), "admin", nil).Body.String()
	for _, want := range []string{said, leaveOut, again} {
		if !strings.Contains(text, want) {
			t.Errorf("the last page: got %s, want %q", text, want)
		}
	}
	if strings.Contains(text, `name="another"`) {
		t.Error("the last page asks for another confirmation, want only the choice")
	}
	var got []operator.Upload
	w.Server.process.Launch = func(_ context.Context, u operator.Upload) (resource.Launched, error) {
		got = append(got, u)
		if !u.LeaveOutSent && !u.SendAgain {
			return resource.Launched{}, &launch.SentBeforeError{SentBefore: sent, ByHand: true}
		}
		return resource.Launched{Run: resource.LaunchedRun{ID: "spring-1"}}, nil
	}
	asked := w.request(w.step("send"), "admin", url.Values{"another": {"1"}})
	for _, want := range []string{said, leaveOut, again, `name="another" value="1"`, "Nothing was sent yet"} {
		if text := asked.Body.String(); !strings.Contains(text, want) {
			t.Errorf("without a choice: got %d %s, want %q", asked.Code, text, want)
		}
	}
	done := w.request(w.step("send"), "admin", url.Values{"another": {"1"}, "sent_before": {"leave_out"}})
	if done.Code != http.StatusSeeOther || len(got) != 2 || !got[1].LeaveOutSent || got[1].SendAgain || !got[1].Another {
		t.Errorf("with a choice: got %d and the launches %+v, want the run without these people", done.Code, got)
	}
}
