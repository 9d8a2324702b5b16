package console

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
)

// sendView is the last page before a campaign is sent.
type sendView struct {
	draftView
	N      int64
	Facts  []fact
	Before *launch.Check // an earlier run that the list meets; nil: there is none
	Goes   bool          // that run sends this list now
	Both   int64         // people who are in both
	Sent   string        // who got the template before; "": nobody
	Shows  string        // showsOf
}

type fact struct{ Name, Value string }

func newSend(v *visit, dr campaign.Draft) (any, error) {
	out := sendView{draftView: v.draftView(dr, stepSend, "Send"), Shows: showsOf(dr)}
	to := ""
	err := v.prepared(dr, func(x *operator.Prepared, one kept) error {
		found := one.found
		if !found.OK() {
			to = out.Path + "/check"
			return nil
		}
		out.N = found.Sendable
		out.Facts = facts(x, found)
		if c := found.Launch; c != nil && c.Does != launch.Launches {
			out.Before, out.Goes = c, c.Does == "goes_on"
			if c.Difference != nil {
				out.Both = c.Difference.Both
			}
		}
		if s := found.SentBefore; s.Any() && found.Skipped[campaign.SentBefore] == 0 {
			out.Sent = sentence(s.String())
			if c := out.Before; c != nil && c.Does == launch.Refuses && c.Difference == nil { // for that reason alone
				out.Before = nil
			}
		}
		return nil
	})
	if err == nil && to != "" {
		http.Redirect(v.w, v.r, to, http.StatusSeeOther)
		return nil, nil //nolint:nilnil // it has answered
	}
	return out, err
}

// showsOf names the list and the campaign that a page shows, so that its form sends nothing else.
func showsOf(dr campaign.Draft) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(dr.List+"\x00"+string(dr.Source))))
}

// facts are what holds for the run.
func facts(x *operator.Prepared, found *launch.Preflight) []fact {
	d := x.File.Definition
	all := []fact{{"Messages", plot.Count(found.Sendable)}, {"Template", d.Template.Name + ", " + d.Template.Language}}
	add := func(name, format string, args ...any) { all = append(all, fact{name, fmt.Sprintf(format, args...)}) }
	if len(found.Connections) == 0 {
		add("Numbers", "%s", strings.Join(d.Connections, ", "))
	}
	for _, c := range found.Connections {
		parts := []string{c.ID, c.Phone, c.Quality, c.Tier}
		if c.Pace > 0 {
			parts = append(parts, rate(c.Pace)+" a second")
		}
		add("Number", "%s", strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "))
	}
	if c := d.Policies.Canary; c != nil {
		add("Canary", "%s first; at most %.0f\u00a0%% may fail, and %.0f\u00a0%% must be reported delivered", plot.Count(c.Count),
			100*c.MaxFailed, 100*c.MinDelivered)
	}
	if w := d.Window; w != nil {
		add("Window", "%s", strings.TrimSpace(w.Hours+" "+strings.Join(w.Days, " ")+" "+w.Timezone))
	}
	if d.Limits.Rate > 0 {
		add("Limit", "%s messages a second", rate(d.Limits.Rate))
	}
	if d.Policies.Approval.Needed(found.Sendable) {
		add("Approval", "by a second person")
	}
	return all
}

// send launches the draft. ctx is the context of the process, so a closed browser stops nothing.
func send(v *visit, dr campaign.Draft) (done, error) {
	if v.process.Launch == nil {
		return done{}, &problem{http.StatusServiceUnavailable, "This process sends nothing."}
	}
	if shows := v.form.Get("shows"); shows != "" && shows != showsOf(dr) {
		return done{}, &problem{http.StatusConflict, "The list or the campaign was changed on another page, so this one showed what is no " +
			"longer true, and nothing was sent. Go back, look at it again, then send it."}
	}
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Time{}) // the import of a long list takes its time
	x, err := v.process.Prepare(v.r.Context(), dr)
	if err != nil {
		return done{}, err
	}
	defer x.End()
	launched, err := x.Launch(v.ctx, v.d, operator.Upload{Trail: v.d.Trail, Another: v.form.Get("another") != "",
		LeaveOutSent: v.form.Get(sentChoice) == file.SentBeforeLeaveOut, SendAgain: v.form.Get(sentChoice) == file.SentBeforeSend})
	if err != nil {
		v.checks.forget() // the check was right before the launch, and is not now
	}
	var sent *launch.SentBeforeError
	if errors.As(err, &sent) {
		return done{view: confirmOf(question{Asked: "Send to these people again?", Yes: "Send", Back: draftPath(dr.ID) + "/send",
			What: "Nothing was sent yet. A message that was sent cannot be called back.", Sent: sentence(sent.SentBefore.String())}, v)}, nil
	}
	if refused, _ := launch.RefusalOf(err); refused != "" {
		return done{}, &problem{http.StatusConflict, operator.WithoutFolder(forPage(err), x)}
	}
	if err != nil {
		return done{}, err
	}
	said := "It is launched."
	if launched.Resumed || launched.Ended {
		said = "This list was sent before, and this is its run."
	}
	for _, w := range launched.Warnings {
		said += " " + sentence(w)
	}
	return done{to: runPath(launched.Run.ID), said: said}, nil
}
