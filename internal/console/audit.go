package console

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/plot"
	"campaignd/reporting"
)

// audits are the audits of runs that were asked for on a page of this process, by run.
type audits struct {
	mu   sync.Mutex
	runs map[string]audit
}

// audit is the audit of a run. It is under way until it has ended.
type audit struct {
	Began, Ended time.Time
	Result       *reporting.AuditResult
	Fault        string // why there is no result
}

// The bounds of audits: how many runs are read at a time, how many are kept, and the longest one.
const (
	auditsAtOnce = 2
	mostAudits   = 100
	maxAudit     = time.Hour
)

// of returns the last audit of a run; nil: there is none.
func (a *audits) of(run string) *audit {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one, ok := a.runs[run]; ok {
		return &one
	}
	return nil
}

// begin notes that an audit begins, unless one of the run is under way. It returns false if enough
// runs are being read.
func (a *audits) begin(run string, now time.Time) (began, possible bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	underWay, oldest := 0, ""
	for name, one := range a.runs {
		switch {
		case !one.Ended.IsZero():
			if oldest == "" || one.Ended.Before(a.runs[oldest].Ended) {
				oldest = name
			}
		case name == run:
			return false, true
		default:
			underWay++
		}
	}
	if underWay >= auditsAtOnce {
		return false, false
	}
	if len(a.runs) >= mostAudits {
		delete(a.runs, oldest)
	}
	a.runs[run] = audit{Began: now}
	return true, true
}

func (a *audits) end(run string, result *reporting.AuditResult, fault string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.runs[run]
	one.Ended, one.Result, one.Fault = time.Now(), result, fault
	a.runs[run] = one
}

// auditRun audits a run in the background, because it takes minutes for millions of rows. It waits
// a moment, so that the page that follows has the result of a short one.
func auditRun(v *visit) (done, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return done{}, err
	}
	to := done{to: runPath(run.ID) + "/audit"}
	began, possible := v.audits.begin(run.ID, time.Now())
	if !possible {
		return done{}, &problem{http.StatusServiceUnavailable, "Other runs are being audited. Try again in a few minutes."}
	}
	if !began {
		return to, nil
	}
	ended := make(chan struct{})
	go func() { // it ends with the process: v.ctx
		defer close(ended)
		ctx, cancel := context.WithTimeout(v.ctx, maxAudit)
		defer cancel()
		result, err := v.d.Audit(ctx, run.ID)
		fault := ""
		if err != nil {
			v.process.Log.Warn("an audit of the console failed", "run", run.ID, "err", err)
			fault = "The ledger did not answer, so the rows were not read. That does not say that the totals are wrong. Try again."
		}
		v.audits.end(run.ID, result, fault)
	}()
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
	out := auditView{Run: run, Audit: v.audits.of(run.ID)}
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
	case a.Fault != "":
		return a.Fault
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
