package sandbox

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/sandbox/inprocess"
)

// The same seed fires the same faults in any order of the requests. Another seed fires others.
func TestTheSameSeedFiresTheSameFaults(t *testing.T) {
	run := func(t *testing.T, seed uint64, backwards bool) map[string]string {
		answers := map[string]string{}
		o := Demo()
		o.Seed, o.Faults = seed, Faults{TooMany: 0.1, ServerError: 0.1, LostBefore: 0.1, LostAfter: 0.1, NoID: 0.1}
		bubble(t, o, func(t *testing.T, c *scene) {
			for i := range 200 {
				if backwards {
					i = 199 - i
				}
				to := fmt.Sprintf("+23480300%04d", i)
				status, raw, err := outcome(t, c, templateBody("conn_1", to, "newsletter"))
				answers[to] = fmt.Sprint(status, strings.Contains(raw, "messageId"), err)
			}
		})
		return answers
	}
	a, b, other := run(t, 7, false), run(t, 7, true), run(t, 8, false)
	differ := 0
	for to := range a {
		if a[to] != b[to] {
			t.Errorf("%s: %s in order and %s backwards, want the same", to, a[to], b[to])
		}
		if a[to] != other[to] {
			differ++
		}
	}
	if differ == 0 {
		t.Error("another seed gave the same answers, want others")
	}
}

// The number of faults differs from the share by at most 15 %.
func TestFaultsFireWithTheirShare(t *testing.T) {
	o := Demo()
	o.EnforceThroughput = false
	o.Faults = Faults{LostAfter: 0.2}
	o.Statuses = StatusProfile{Unreachable: 0.1, Unread: 0.5}
	s, err := New(o)
	must(t, err)
	client := &http.Client{Transport: inprocess.NewTransport(s)}
	c := &scene{s: s, client: client, key: DemoKey}
	const n = 4000
	for i := range n {
		_, _, _ = outcome(t, c, templateBody("conn_1", fmt.Sprintf("+2348030%05d", i), "newsletter"))
	}
	truth := s.Truth()
	near := func(what string, got, want float64) {
		if got < want*0.85 || got > want*1.15 {
			t.Errorf("%s: %g, want about %g", what, got, want)
		}
	}
	accepted := float64(len(truth.Messages))
	near("unreachable", float64(truth.Refused["send_recipient_permanent"]), 0.1*n)
	near("lost", float64(truth.Fired["lost_after"]), 0.2*accepted)
	near("accepted", accepted, 0.9*n)
}
