package html

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/plot"
	"campaignd/reporting"
)

// view is what the page shows. Its texts are ready; the template escapes them.
type view struct {
	Run, Template, List, Hash, Version string
	State                              state
	Meta                               []string
	Lede                               lede
	Notices                            []notice
	Figures                            []figure
	Panels                             []panel
	Counted                            []string
	Dense                              bool // so much that one page needs smaller print
}

// state is a word beside a shape.
type state struct{ Name, Class, Shape string }

// lede is the sentence with which the page opens.
type lede struct{ Strong, Rest string }

type notice struct {
	Class, Title string
	Lines        []string
}

type figure struct{ Name, Value, Words string }

// panel is one thing: a sentence, a drawing with its figures, or a story.
type panel struct {
	ID, Title, Class, Remark, Sentence, Note string
	Drawing, Figures                         template.HTML
	Story                                    []told
}

// told is an Event as it is written.
type told struct {
	At, Sentence string
	when         time.Time
}

// maxWords is how many characters of a sentence from outside are shown, and maxName of a name.
const (
	maxWords = 200
	maxName  = 80
)

// maker makes a view.
type maker struct {
	*Facts
	zone      *time.Location
	countries map[string]string
	stamped   bool // a script may write the times of the plots in another zone
}

func newView(f *Facts, countries map[string]string) *view {
	m := &maker{Facts: f, zone: time.UTC, countries: countries}
	if zone, err := time.LoadLocation(f.Report.Run.Timezone); err == nil {
		m.zone = zone
	}
	run := f.Report.Run
	v := &view{Run: name(run.ID), Template: name(run.Template), State: stateOf(run), Lede: m.lede(), Notices: m.notices(),
		Figures: m.figures(), Counted: m.counted(), Version: "campaignd " + plot.Text(f.Version, maxName),
		List: cmp.Or(name(base(run.List)), "the list"), Hash: plot.Text(run.ListHash, maxName)}
	kind := run.Language
	if run.Marketing {
		kind = strings.TrimPrefix(kind+", marketing", ", ")
	}
	for _, s := range []string{kind, base(run.List), m.period()} {
		if s != "" {
			v.Meta = append(v.Meta, name(s))
		}
	}
	v.Panels = m.panels()
	v.Dense = len(v.Notices) > 2 || len(v.Panels) > 8
	return v
}

// base is the name of a file without its folders, which may be folders of another machine.
func base(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

func name(s string) string { return plot.Text(s, maxName) }

// The shapes of states.
const (
	tick    = "M4.4 10.4.6 6.6l1.5-1.5 2.3 2.3L10 1.8l1.5 1.5z"
	play    = "M2 1l9 5-9 5z"
	bars    = "M2 1h3v10H2zM7 1h3v10H7z"
	octagon = "M3.5 0h5L12 3.5v5L8.5 12h-5L0 8.5v-5z"
	dash    = "M0 4h12v4H0z"
)

func stateOf(run reporting.RunFacts) state {
	word := strings.ReplaceAll(string(run.State), "_", " ")
	switch run.State {
	case campaign.Finished:
		return state{word, "go", tick}
	case campaign.Running:
		return state{word, "go", play}
	case campaign.Paused, campaign.WaitingApproval:
		return state{word, "wait", bars}
	case campaign.RunStateFailed, campaign.Cancelled:
		return state{word, "stop", octagon}
	}
	return state{word, "", dash}
}

// on writes a day and a minute in the zone of the campaign.
func (m *maker) on(t time.Time) string { return t.In(m.zone).Format("2\u00a0January\u00a02006, 15:04") }

// period says from when to when the run was, and in which zone.
func (m *maker) period() string {
	run := m.Report.Run
	from := run.StartedAt
	if from.IsZero() {
		from = run.CreatedAt
	}
	switch {
	case from.IsZero():
		return ""
	case run.EndedAt.IsZero():
		return fmt.Sprintf("since %s (%s)", m.on(from), m.zone)
	case m.on(from) == m.on(run.EndedAt):
		return fmt.Sprintf("%s (%s)", m.on(from), m.zone)
	case from.In(m.zone).Format(time.DateOnly) == run.EndedAt.In(m.zone).Format(time.DateOnly):
		return fmt.Sprintf("%s to %s (%s)", m.on(from), run.EndedAt.In(m.zone).Format("15:04"), m.zone)
	}
	return fmt.Sprintf("%s to %s (%s)", m.on(from), m.on(run.EndedAt), m.zone)
}

// people counts with the noun that agrees.
func people(n int64) string {
	if n == 1 {
		return "One person"
	}
	return plot.Count(n) + " people"
}

func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return plot.Count(n) + " rows"
}

func was(n int64) string {
	if n == 1 {
		return " was"
	}
	return " were"
}

// lede says in a sentence or two what became of the run.
func (m *maker) lede() lede {
	r := m.Report
	t, f, ended := r.Totals, r.Funnel, r.Run.State.Ended()
	skipped, waiting := t[campaign.Skipped], t[campaign.Queued]+t[campaign.Sending]
	var s lede
	switch {
	case r.Rows == 0 && r.Run.State == campaign.Importing:
		s = lede{"The list is being read", "; nothing was sent yet."}
	case r.Rows == 0:
		return lede{"The list has no rows", ", so nothing was sent."}
	case f.Sendable == 0:
		return lede{"Nobody got the message", ": no row of the list could be sent, and " + rows(skipped) + was(skipped) + " skipped."}
	case f.Delivered == 0 && t[campaign.Accepted] > 0:
		s = lede{"No delivery was reported", ", of " + plot.Count(f.Accepted) + " accepted by the service."}
	case f.Delivered == 0 && ended:
		s = lede{"Nobody got the message", ", of " + plot.Count(f.Sendable) + " to whom it could be sent."}
	case f.Delivered == 0:
		s = lede{"Nobody has got the message yet", ", of " + plot.Count(f.Sendable) + " to whom it can be sent."}
	default:
		s.Strong = people(f.Delivered) + " got the message"
		if !ended {
			s.Strong += " so far"
		}
		s.Rest = fmt.Sprintf(", %s of the %s to whom it could be sent; %s.", plot.Percent(f.Delivered, f.Sendable), plot.Count(f.Sendable),
			read(f))
		switch {
		case f.Sendable == 1:
			s.Rest = ", the only one to whom it could be sent; " + read(f) + "."
		case f.Delivered == f.Sendable:
			s.Rest = ", and so did everybody to whom it could be sent; " + read(f) + "."
		}
	}
	if n := t[campaign.InDoubt] + t[campaign.Unknown]; n > 0 {
		s.Rest += " " + plot.Count(n) + " may have got it and are not counted."
	}
	if waiting > 0 && !ended {
		s.Rest += " " + capital(rows(waiting)) + " are still to be sent."
	}
	if skipped > 0 {
		s.Rest += " " + capital(rows(skipped)) + was(skipped) + " skipped."
	}
	return s
}

// read says how many of those who got the message have read it.
func read(f reporting.Funnel) string {
	switch {
	case f.Read == 0:
		return "no reading of it was reported"
	case f.Read == f.Delivered && f.Read == 1:
		return "it was read"
	case f.Read == f.Delivered:
		return "all have read it"
	}
	return plot.Percent(f.Read, f.Delivered) + " of them have read it"
}

// notices are what a reader has to know before the figures.
func (m *maker) notices() []notice {
	var all []notice
	r := m.Report
	var sum int64
	for _, n := range r.Totals {
		sum += n
	}
	wrong := ""
	switch {
	case m.Audit != nil && !m.Audit.Balanced:
		wrong = "The audit found " + plot.Count(m.Audit.Found) + " problems"
	case sum != r.Rows && r.Run.State != campaign.Importing:
		wrong = "The list has " + rows(r.Rows) + ", and " + plot.Count(sum) + " are counted"
	}
	if wrong != "" {
		all = append(all, notice{"stop", "These figures may be wrong",
			[]string{wrong + ": `campaignd audit " + name(r.Run.ID) + "` lists them."}})
	}
	if run := r.Run; run.State == campaign.Paused || run.State == campaign.RunStateFailed || run.State == campaign.WaitingApproval {
		title := map[campaign.State]string{campaign.Paused: "The run is paused", campaign.RunStateFailed: "The run failed",
			campaign.WaitingApproval: "The run waits for approval"}[run.State]
		n := notice{"wait", title, nil}
		if run.State == campaign.RunStateFailed {
			n.Class = "stop"
		}
		if run.Detail != "" {
			n.Lines = []string{capital(plot.Text(run.Detail, maxWords))}
		}
		all = append(all, n)
	}
	if len(r.Holds) > 0 {
		n := notice{"wait", "Messages are held", nil}
		for i, h := range r.Holds {
			if i == 1 && len(r.Holds) > 2 {
				n.Lines = append(n.Lines, fmt.Sprintf("And %d other holds.", len(r.Holds)-i))
				break
			}
			n.Lines = append(n.Lines, capital(plot.Text(h.Sentence, maxWords)))
		}
		all = append(all, n)
	}
	if r.RefusedEvents != "" {
		all = append(all, notice{"stop", "Statuses are missing", []string{capital(plot.Text(r.RefusedEvents, maxWords))}})
	}
	if r.NoEvents != "" {
		all = append(all, notice{"wait", "Statuses are missing", []string{capital(plot.Text(r.NoEvents, maxWords))}})
	}
	if n := r.Totals[campaign.InDoubt] + r.Totals[campaign.Unknown]; n > 0 {
		all = append(all, notice{"doubt", "In doubt: " + rows(n), []string{
			"They were given to the service, and no answer says what became of them. They are counted neither as delivered nor as failed, " +
				"and nobody among them is sent the message a second time unless you say so."}})
	}
	return all
}

func (m *maker) figures() []figure {
	r := m.Report
	f := r.Funnel
	failed := r.Totals[campaign.Failed] + r.Totals[campaign.Refused]
	of := func(n, all int64, what string) string {
		if s := plot.Percent(n, all); s != "" {
			return s + " of " + what
		}
		return ""
	}
	last := figure{"Skipped", plot.Count(r.Totals[campaign.Skipped]), of(r.Totals[campaign.Skipped], r.Rows, "all rows")}
	if n := r.Responses; n != nil {
		last = figure{"Opted out after this run", plot.Count(n.OptedOut), of(n.OptedOut, f.Delivered, "delivered")}
	}
	return []figure{
		{"Delivered", plot.Count(f.Delivered), of(f.Delivered, f.Sendable, "sendable")},
		{"Read", plot.Count(f.Read), of(f.Read, f.Delivered, "delivered")},
		{"Failed or refused", plot.Count(failed), of(failed, f.Sendable, "sendable")},
		last,
	}
}

// counted says how the figures came about.
func (m *maker) counted() []string {
	r := m.Report
	skipped := r.Totals[campaign.Skipped]
	sum := fmt.Sprintf("Each row of the list is counted once: %s = %s sendable + %s skipped.",
		plot.Count(r.Funnel.Sendable+skipped), plot.Count(r.Funnel.Sendable), plot.Count(skipped))
	switch {
	case m.Audit == nil:
		sum += " `campaignd audit " + name(r.Run.ID) + "` reads the list and compares each row with these totals."
	case m.Audit.Balanced && m.Audit.Importing:
		sum += " The audit balances so far; the import is unfinished."
	case m.Audit.Balanced:
		sum += " The audit balances: every row has exactly one outcome."
	default:
		sum += " The audit does not balance."
	}
	as := fmt.Sprintf("As of %s (%s).", m.on(m.AsOf), m.zone)
	if !m.LastStatus.IsZero() {
		as += fmt.Sprintf(" The last status came on %s.", m.on(m.LastStatus))
	}
	if s := r.Run.Retired.Sentence(r.Rows); s != "" {
		as += " " + capital(s) + "."
	}
	return []string{sum, as}
}

// capital writes the first letter large.
func capital(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:]
}
