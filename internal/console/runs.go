package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/operator"
	"campaignd/internal/plot"
	"campaignd/reporting"
	"campaignd/reporting/html"
)

// bar is all rows of a run in one bar: those with an outcome, the furthest first, then the others.
type bar struct {
	Rows, Done int64
	Parts      []part
	Left       share // rows without an outcome
}

// part is the rows of one status.
type part struct {
	Word, Class, Status string
	N                   int64
	share
}

// share is a place in the bar, in percent of its length.
type share struct{ From, Length string }

// barParts are the statuses in the order of the bar.
var barParts = []struct {
	word, class string
	statuses    []campaign.Status
}{
	{"read", "f-read", []campaign.Status{campaign.Read}},
	{"delivered", "f-delivered", []campaign.Status{campaign.Delivered}},
	{"sent", "f-sent", []campaign.Status{campaign.Sent}},
	{"accepted", "f-accepted", []campaign.Status{campaign.Accepted}},
	{"failed", "f-failed", []campaign.Status{campaign.Failed}},
	{"refused", "f-failed", []campaign.Status{campaign.Refused}},
	{"in doubt", "f-doubt", []campaign.Status{campaign.InDoubt}},
	{"unknown", "f-doubt", []campaign.Status{campaign.Unknown}},
	{"skipped", "f-skipped", []campaign.Status{campaign.Skipped}},
}

func barOf(r *reporting.Report) bar {
	b := bar{Rows: r.Rows}
	at := 0.0
	place := func(n int64) share {
		length := 0.0
		if b.Rows > 0 {
			length = 100 * float64(n) / float64(b.Rows)
		}
		s := share{fmt.Sprintf("%.2f%%", at), fmt.Sprintf("%.2f%%", length)}
		at += length
		return s
	}
	for _, p := range barParts {
		n := r.Totals[p.statuses[0]]
		if n > 0 {
			b.Parts = append(b.Parts, part{p.word, p.class, string(p.statuses[0]), n, place(n)})
			b.Done += n
		}
	}
	if left := b.Rows - b.Done; left > 0 {
		b.Left = place(left)
		b.Parts = append(b.Parts, part{Word: "queued", Class: "", Status: string(campaign.Queued), N: r.Totals[campaign.Queued]})
		if n := r.Totals[campaign.Sending]; n > 0 {
			b.Parts = append(b.Parts, part{Word: "sending", Class: "", Status: string(campaign.Sending), N: n})
		}
	}
	return b
}

// mostRuns is the most runs of a list.
const mostRuns = 100

type runsView struct {
	Runs     []resource.Run
	Campaign string
	All      bool // also those that ended
	More     bool // older ones are not listed
}

func listRuns(v *visit) (any, error) {
	q := v.r.URL.Query()
	out := runsView{Campaign: q.Get("campaign"), All: q.Get("unfinished") == ""}
	all, err := v.d.Runs(v.r.Context(), campaign.RunFilter{Unfinished: !out.All, Campaign: out.Campaign, Limit: mostRuns + 1})
	out.More = len(all) > mostRuns
	out.Runs = all[:min(len(all), mostRuns)]
	return out, err
}

// runView is the page of one run.
type runView struct {
	Run      resource.Run
	Why      why.Answer
	Report   *reporting.Report
	Bar      bar
	Rate     float64 // messages a second, over all numbers
	Funnel   *plot.Table
	Failed   []reason
	Skipped  []reason
	Course   []html.Part
	Late     bool // Course is empty, because it takes longer than a page waits
	Limits   resource.Limits
	Ended    string   // what became of an ended run, in a sentence; "": it has not ended
	Again    []choice // rows that a follow-up may send to
	Operates bool     // the visitor may change it
	Audit    *audit   // the last one; nil: there is none
	Can      map[string]bool
}

// Title implements titled.
func (v runView) Title() string { return v.Run.ID + ", " + word(v.Run.State) }

// Responses says what people did after its messages; "": nothing, or it is not known.
func (v runView) Responses() string { return reporting.ResponsesSentence(v.Report.Responses) }

// reason is a code or a reason, with its rows.
type reason struct {
	Status, Code, Sentence string
	N                      int64
	Length                 string // of its bar, in percent
}

func reasons(status campaign.Status, counts map[string]int64, words func(string) string) []reason {
	var out []reason
	for code, n := range counts {
		out = append(out, reason{string(status), code, words(code), n, ""})
	}
	slices.SortFunc(out, func(a, b reason) int {
		if a.N != b.N {
			return int(min(1, max(-1, b.N-a.N)))
		}
		return strings.Compare(a.Code, b.Code)
	})
	return scaled(out)
}

// scaled gives the bars of a table one scale.
func scaled(all []reason) []reason {
	most := int64(1)
	for _, r := range all {
		most = max(most, r.N)
	}
	for i := range all {
		all[i].Length = fmt.Sprintf("%.1f", max(0.5, 100*float64(all[i].N)/float64(most)))
	}
	return all
}

// showRun shows the figures that all get who look at the run in the same second. Each visitor sees
// the actions that the own key may do.
func showRun(v *visit) (any, error) {
	run, err := v.d.Run(v.r.Context(), v.r.PathValue("run"))
	if err != nil {
		return nil, err
	}
	view, err := v.figures(run.ID, true)
	if err != nil {
		return nil, err
	}
	view.Operates = v.who.Scope.Allows(campaign.KeyOperate)
	view.Audit, err = v.lastAudit(run.ID)
	return view, err
}

// runView reads the figures of a run, without plots and limits.
func (v *visit) runView(ctx context.Context, id string) (out runView, err error) {
	run, err := v.d.Run(ctx, id)
	if err != nil {
		return out, err
	}
	out = runView{Run: run}
	if out.Why, out.Report, err = v.d.Figures(ctx, run.ID); err != nil {
		return out, err
	}
	out.Rate = pace(out.Why)
	out.Bar, out.Funnel = barOf(out.Report), funnel(out.Report)
	out.Failed = scaled(append(reasons(campaign.Failed, out.Report.Failed, reporting.CodeSentence),
		reasons(campaign.Refused, out.Report.Refused, out.Report.RefusalSentence)...))
	out.Skipped = reasons(campaign.Skipped, out.Report.Skipped, func(s string) string { return campaign.SkipReason(s).Sentence() })
	if run.State.Ended() {
		out.Ended, out.Again = endOf(run, out.Report), out.choices(out.Report)
	}
	paused := run.State == campaign.Paused || run.Wanted == campaign.WantPause
	open, approval := !run.State.Ended(), run.State == campaign.WaitingApproval
	out.Can = map[string]bool{"pause": open && !paused && !approval, "resume": open && paused, "approve": approval, "cancel": open,
		"limits": open}
	return out, nil
}

// complete adds the plots and the limits of a run. A run of a later version, whose campaign cannot
// be read, has a page without limits, because it can be paused and cancelled.
func (v *visit) complete(ctx context.Context, view *runView) (err error) {
	plots, err := v.course(ctx, view.Run.ID, view.Report)
	if err != nil {
		return err
	}
	view.Course, view.Late = plots.parts, plots.late
	view.Limits, err = v.d.Limits(ctx, view.Run.ID)
	if unreadable := (*file.Error)(nil); errors.As(err, &unreadable) {
		view.Limits.Sentence, view.Can["limits"] = "this version of campaignd cannot read them", false
		return nil
	}
	return err
}

// pace is how many messages a second a run sends now, over all numbers.
func pace(w why.Answer) (rate float64) {
	for _, l := range w.Lanes {
		if !l.Stale && !why.StandsStill(l.LimitedBy) {
			rate += l.Rate
		}
	}
	return rate
}

// endOf says what became of a run that ended.
func endOf(run resource.Run, r *reporting.Report) string {
	text := map[campaign.State]string{campaign.Finished: "It is finished", campaign.Cancelled: "It was cancelled",
		campaign.RunStateFailed: "It failed"}[run.State]
	if run.Detail != "" {
		text += ": " + strings.TrimSuffix(run.Detail, ".")
	}
	text += fmt.Sprintf(". Of %s rows, %s messages were accepted and %s delivered", plot.Count(r.Rows), plot.Count(r.Funnel.Accepted),
		plot.Count(r.Funnel.Delivered))
	if n := r.Totals[campaign.InDoubt] + r.Totals[campaign.Unknown]; n > 0 {
		text += fmt.Sprintf("; of %s nobody knows whether they were sent", plot.Count(n))
	}
	return text + "."
}

// funnel is how far messages came.
func funnel(r *reporting.Report) *plot.Table {
	t := &plot.Table{Caption: "How far messages came", Funnel: true, Columns: []plot.Column{{Name: "Stage"},
		{Name: "Share of the sendable rows", Kind: plot.Bars}, {Name: "Messages", Kind: plot.Number}, {Name: "Share", Kind: plot.Minor}}}
	before, name := int64(0), ""
	for _, s := range []struct {
		name   string
		series plot.Series
		n      int64
	}{{"Sendable", plot.Sendable, r.Funnel.Sendable}, {"Accepted", plot.Accepted, r.Funnel.Accepted}, {"Sent", plot.Sent, r.Funnel.Sent},
		{"Delivered", plot.Delivered, r.Funnel.Delivered}, {"Read", plot.Read, r.Funnel.Read}} {
		of := ""
		if name != "" && before > 0 {
			of = plot.Percent(s.n, before) + " of " + strings.ToLower(name)
		}
		t.Rows = append(t.Rows, []plot.Cell{{Text: s.name, Strong: true}, {Bar: plot.Bar{Series: s.series, N: s.n, Of: r.Funnel.Sendable}},
			{Text: plot.Count(s.n), Strong: true}, {Text: of}})
		before, name = s.n, s.name
	}
	return t
}

// control is the form of a verb.
func control(do func(*operator.Session, context.Context, string) (resource.Controlled, error)) func(*visit) (done, error) {
	return func(v *visit) (done, error) {
		out, err := do(v.d, v.r.Context(), v.r.PathValue("run"))
		return done{to: runPath(out.Run.ID), said: sentence(out.Sentence)}, err
	}
}

func runPath(id string) string { return "/console/runs/" + url.PathEscape(id) }

func askCancel(v *visit) question {
	id := v.r.PathValue("run")
	return question{Asked: "Cancel " + clip(id) + "?", What: "What is queued is not sent, and a cancelled run cannot be resumed. " +
		"Messages that were accepted still get their statuses.", Yes: "Cancel the run", Back: runPath(id)}
}

func askApprove(v *visit) question {
	id := v.r.PathValue("run")
	q := question{Asked: "Approve " + clip(id) + "?", What: "Sending begins at once. A message that was sent cannot be called back.",
		Yes: "Approve and send", Back: runPath(id)}
	if r, err := v.d.Run(v.r.Context(), id); err == nil {
		q.What = fmt.Sprintf("The list has %s rows. %s", plot.Count(r.Rows), q.What)
	}
	return q
}

// changeLimits changes the limits whose fields have a value.
func changeLimits(v *visit) (done, error) {
	var c campaign.LimitChange
	form, id := v.form, v.r.PathValue("run")
	wrong := func(what, got, want string) (done, error) {
		return done{}, &problem{http.StatusBadRequest, fmt.Sprintf("%s: %q is not valid; give %s.", what, clip(got), want)}
	}
	if s := form.Get("class"); s != "" {
		class := campaign.Class(s)
		c.Class = &class
	}
	if s := strings.TrimSpace(form.Get("weight")); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return wrong("Weight", s, "a whole number from 1 to 100")
		}
		c.Weight = &n
	}
	if s := strings.TrimSpace(form.Get("rate")); s != "" {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return wrong("Messages a second", s, "a number, for example 40; 0 is no limit")
		}
		c.Rate = &f
	}
	if s := strings.TrimSpace(form.Get("deadline")); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			return wrong("Deadline", s, "a time from the launch, for example 6h; 0s is none")
		}
		deadline := campaign.Duration(d)
		c.Deadline = &deadline
	}
	after, err := v.d.ChangeLimits(v.r.Context(), id, c)
	return done{to: runPath(after.Run), said: sentence(after.Sentence)}, err
}
