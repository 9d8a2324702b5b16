package console

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
)

// audit is the last audit of a run as pages show it.
type audit struct{ operator.Audit }

// lastAudit returns the last audit of a run, whichever process made it; nil: there is none.
func (v *visit) lastAudit(run string) (*audit, error) {
	a, err := v.d.LastAudit(v.r.Context(), run)
	if a == nil {
		return nil, err
	}
	return &audit{*a}, err
}

// The bounds of audits: how many runs a process reads at a time, and the longest audit.
const (
	auditsAtOnce = 2
	maxAudit     = time.Hour
)

// auditRun audits a run in the background, because it takes minutes for millions of rows. It waits
// a moment, so that the page that follows has the result of a short one.
func auditRun(v *visit) (done, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return done{}, err
	}
	to := done{to: runPath(run.ID) + "/audit"}
	if last, err := v.lastAudit(run.ID); err != nil || last != nil && last.Ended.IsZero() {
		return to, err
	}
	select {
	case v.audits <- struct{}{}:
	default:
		return done{}, &problem{http.StatusServiceUnavailable, "Other runs are being audited. Try again in a few minutes."}
	}
	began, ended := make(chan struct{}), make(chan struct{})
	go func() { // it ends with the process: v.ctx
		defer func() { <-v.audits }()
		defer close(ended)
		ctx, cancel := context.WithTimeout(v.ctx, maxAudit)
		defer cancel()
		err := v.d.AuditAndKeep(ctx, run.ID, func() { close(began) })
		if err != nil && !errors.Is(err, campaign.ErrTaken) {
			v.process.Log.Warn("an audit of the console failed", "run", run.ID, "err", err)
		}
	}()
	select { // the page shows no audit before this one has begun
	case <-began:
	case <-ended:
	case <-v.r.Context().Done():
	}
	select {
	case <-ended:
	case <-v.r.Context().Done():
	case <-time.After(time.Second):
	}
	return to, nil
}

type auditView struct {
	Run   resource.Run
	Audit *audit // nil: there was none
}

// Title implements titled.
func (v auditView) Title() string { return "Audit of " + v.Run.ID }

// refreshed is how often a page of an audit under way loads itself again, in seconds.
const refreshed = 2

func showAudit(v *visit) (any, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	out := auditView{Run: run}
	out.Audit, err = v.lastAudit(run.ID)
	if err == nil && out.Audit != nil && out.Audit.Ended.IsZero() {
		v.w.Header().Set("Refresh", strconv.Itoa(refreshed))
	}
	return out, err
}

// Lasted is the time that the audit took, or has taken so far.
func (a *audit) Lasted() string {
	end := a.Ended
	if end.IsZero() {
		end = time.Now()
	}
	if d := end.Sub(a.Began); d >= time.Minute {
		return plot.Duration(d)
	}
	return strconv.Itoa(int(end.Sub(a.Began).Seconds())) + " s"
}

// Sentence is what the audit found.
func (a *audit) Sentence() string {
	switch r := a.Result; {
	case a.Failed():
		return "The audit did not come to its end: the ledger did not answer, or the process ended. " +
			"That does not say that the totals are wrong. Try again."
	case r == nil:
		return "Each row of the list is being read."
	case !r.Balanced && r.Found == 1:
		return "1 problem was found."
	case !r.Balanced:
		return plot.Count(r.Found) + " problems were found."
	case r.Importing:
		return "The list is being imported. The rows so far have one outcome each."
	case r.Rows == 0:
		return "The list has no row, and the totals are 0."
	case r.Counted < r.Rows:
		return "The totals add up to the rows of the list. Retention has deleted rows, so that these cannot be read any more."
	}
	return "Each row of the list has exactly one status, and the totals agree."
}

// Facts are the figures of the audit.
func (a *audit) Facts() []fact {
	if a.Result == nil {
		return nil
	}
	all := []fact{{"Rows of the list", plot.Count(a.Result.Rows)}, {"Rows that were read", plot.Count(a.Result.Counted)}}
	for _, s := range campaign.Statuses {
		if n := a.Result.Totals[s]; n > 0 {
			all = append(all, fact{word(s), plot.Count(n)})
		}
	}
	return all
}
