package console

import (
	"fmt"
	"net/http"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/client/resource"
	words "campaignd/internal/sentence"
	"campaignd/reporting"
)

// choice is a group of rows of an ended run that may be sent again.
type choice struct {
	Where, Name, Sentence string
	N                     int64
}

// choices are the codes and reasons of an ended run that a follow-up may choose: none if retention
// has deleted rows.
func (v runView) choices(r *reporting.Report) (all []choice) {
	if v.Run.Retired.Rows > 0 {
		return nil
	}
	for _, one := range append(append([]reason{}, v.Failed...), v.Skipped...) {
		where := one.Status + "=" + one.Code
		if _, err := launch.ParseWhere(where); err == nil {
			says := one.Sentence
			if l := r.Lift; l != nil && one.Status == string(campaign.Skipped) && one.Code == string(campaign.HeldOut) &&
				time.Now().Before(l.Until) {
				says += "; their purchases are compared with those of the others until " + when(l.Until) + ", and a message to them ends that"
			}
			name := word(one.Status) + " " + word(one.Code)
			if one.Code == campaign.NoCode {
				name = word(one.Status) + " without a code"
			}
			all = append(all, choice{where, name, says, one.N})
		}
	}
	if n := r.Totals[campaign.Unknown]; n > 0 {
		all = append(all, choice{string(campaign.Unknown), "unknown",
			"nobody knows whether they were sent, so some people may get the message twice", n})
	}
	return all
}

// followUp makes a run over chosen rows of an ended one. It says first how many they are. The
// context of the process makes the run, so a closed browser leaves none that is half made.
func followUp(v *visit) (done, error) {
	id := v.r.PathValue("run")
	r := resource.FollowUpRequest{Where: v.form["where"], Early: v.form.Get("early") != "",
		EndsComparison: v.form.Get("ends_comparison") != "",
		LeaveOutSent:   v.form.Get(sentChoice) == file.SentBeforeLeaveOut, SendAgain: v.form.Get(sentChoice) == file.SentBeforeSend}
	if len(r.Where) == 0 {
		return done{}, &problem{http.StatusBadRequest, "Choose at least one group of rows first."}
	}
	_ = http.NewResponseController(v.w).SetWriteDeadline(time.Now().Add(maxCheck)) // every row is read; tests have no deadlines
	q := question{Asked: "Send to these rows of " + clip(id) + " again?", Back: runPath(id) + "#follow-up"}
	if !q.answered(v) {
		r.DryRun, r.EndsComparison = true, true
		found, err := v.d.FollowUp(v.r.Context(), id, r)
		if err != nil {
			return done{}, err
		}
		q.What = words.Count(found.Rows, "row is", "rows are") + " sent to again, as a new run over the numbers of this one. The same choice " +
			"is the same run. A message that was sent cannot be called back."
		if n := found.Elsewhere; n > 0 {
			q.What += fmt.Sprintf(" %s left out, because another follow-up has them.", words.Count(n, "row is", "rows are"))
		}
		if n := found.NoID; n > 0 {
			q.What += fmt.Sprintf(" %s left out, because the service may have accepted the message.", words.Count(n, "row is", "rows are"))
		}
		if n := found.Compared; n > 0 {
			q.What += fmt.Sprintf(" It ends the comparison with %s who were held out: orders from then on no longer show what the message brought.",
				words.Count(n, "person", "people"))
			v.form.Set("ends_comparison", "1") // the question says it, so its answer permits it
		}
		if s := found.SentBefore; s.Any() {
			q.Sent = sentence(s.String())
		}
		q.Yes = "Send " + words.Count(found.Rows, "message", "messages")
		return done{view: confirmOf(q, v)}, nil
	}
	made, err := v.d.FollowUp(v.ctx, id, r)
	said := fmt.Sprintf("It is a follow-up of %s with %s.", id, words.Count(made.Rows, "row", "rows"))
	if made.Existed {
		said = "These rows were chosen before, and this is their run."
	}
	return done{to: runPath(made.Run.ID), said: said}, err
}
