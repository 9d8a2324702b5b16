package html

import (
	"fmt"
	"strings"
	"time"

	"campaignd/campaign/wording"
	"campaignd/internal/plot"
)

// mostPoints is how many points a plot has at most: more are neither seen nor read.
const mostPoints = 240

// courses are the steps of a plot.
var courses = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// stepOf returns the shortest step that divides a span into at most mostPoints, and that the points
// of the summary add up to.
func stepOf(span, kept time.Duration) time.Duration {
	for _, step := range courses {
		if step >= kept && step%max(kept, 1) == 0 && span/step <= mostPoints {
			return step
		}
	}
	day := 24 * time.Hour
	return max((span/mostPoints/day+1)*day, kept)
}

// rate draws how many messages were accepted a minute.
func (m *maker) rate() panel {
	p := panel{ID: "rate", Title: "Accepted a minute"}
	if len(m.Limits) > 0 {
		p.Title += ", against the limit"
	}
	var first, last time.Time
	for _, point := range m.Summary.Series {
		if point.Accepted > 0 {
			if first.IsZero() {
				first = point.At
			}
			last = point.At.Add(m.Summary.Step)
		}
	}
	if first.IsZero() {
		p.Sentence = "No message was accepted yet."
		if m.Report.Run.State.Ended() {
			p.Sentence = "No message was accepted."
		}
		return p
	}
	if m.Report.Run.State.Ended() && last.Sub(first) <= time.Minute {
		p.Sentence = fmt.Sprintf("All were accepted within a minute: %s on %s (%s).", plot.Count(m.Report.Funnel.Accepted), m.on(first), m.zone)
		return p
	}
	l := plot.Line{ID: "rate-plot", What: "Accepted a minute", Zone: m.zone, Limits: m.Limits, Bands: m.Stops, Stamped: m.stamped}
	if !m.Report.Run.State.Ended() && m.AsOf.After(last) {
		last, l.End = m.AsOf, "now"
	}
	l.Step = stepOf(last.Sub(first), m.Summary.Step)
	l.From, l.To = first.Truncate(l.Step), last
	var most float64
	for _, point := range m.Summary.Coarser(l.Step) {
		if point.Accepted > 0 {
			value := float64(point.Accepted) / l.Step.Minutes()
			most = max(most, value)
			l.Points = append(l.Points, plot.Point{At: point.At, Value: value})
		}
	}
	if l.Step > time.Minute {
		p.Remark = "on average in each step of " + plot.Duration(l.Step)
	}
	l.Title = fmt.Sprintf("Messages accepted a minute from %s to %s (%s): %s in all, at most %s a minute",
		m.on(l.From), m.on(l.To), m.zone, plot.Count(m.Report.Funnel.Accepted), plot.Count(int64(most+0.5)))
	if p.Remark != "" {
		l.Title += ", " + p.Remark
	}
	for _, b := range m.Stops {
		l.Title += fmt.Sprintf("; %s from %s to %s", name(b.Name), b.From.In(m.zone).Format("15:04"), b.To.In(m.zone).Format("15:04"))
	}
	p.Drawing, p.Figures = l.SVG(), l.Table().HTML()
	return p
}

// latency draws how long delivery took.
func (m *maker) latency() panel {
	p := panel{ID: "latency", Title: "Time to delivery", Class: "w5"}
	half, most, nearly := m.Summary.Percentile(0.5), m.Summary.Percentile(0.9), m.Summary.Percentile(0.99)
	if len(m.Summary.Latency) == 0 {
		p.Sentence = "No delivery was reported."
		return p
	}
	p.Sentence = fmt.Sprintf("Half of the delivered messages arrived within %s, 90\u00a0%% within %s, 99\u00a0%% within %s.",
		plot.Duration(half), plot.Duration(most), plot.Duration(nearly))
	if m.Report.Funnel.Delivered == 1 {
		p.Sentence = "The message arrived within " + plot.Duration(most) + "."
		return p
	}
	h := plot.Histogram{ID: "latency-plot", Series: plot.Delivered,
		Title: "How many messages took how long from acceptance to delivery. " + p.Sentence,
		Marks: []plot.Mark{{At: half, Name: "half"}, {At: most, Name: "90\u00a0%"}, {At: nearly, Name: "99\u00a0%"}}}
	for _, b := range m.Summary.Latency {
		h.Buckets = append(h.Buckets, plot.Bucket{From: b.From, To: b.To, N: b.N})
	}
	p.Drawing, p.Figures = h.SVG(), h.Table().HTML()
	return p
}

// happened tells the story of the run: its beginning, and the last things that happened.
func (m *maker) happened() panel {
	if len(m.History) == 0 {
		return panel{}
	}
	p := panel{ID: "happened", Title: "What happened", Class: "w6"}
	tell := func(e wording.Happening) {
		p.Story = append(p.Story, told{e.At.In(m.zone).Format("2\u00a0Jan 15:04"), capital(plot.Text(e.Sentence, maxWords/2)), e.At})
	}
	events := m.History
	if others := len(events) - mostLines; others > 0 {
		tell(events[0])
		p.Story = append(p.Story, told{Sentence: fmt.Sprintf("And %d others", others+1)})
		events = events[others+2:]
	}
	for _, e := range events {
		tell(e)
	}
	return p
}

// brought are the orders and the cost of the run, if they are known.
func (m *maker) brought() panel {
	r := m.Report
	t := plot.Table{Caption: "Orders that the run brought, and what it cost",
		Columns: []plot.Column{{Name: "What"}, {Name: "Amount", Kind: plot.Number}}}
	add := func(what, amount string) { t.Rows = append(t.Rows, []plot.Cell{{Text: what}, {Text: amount}}) }
	if c := r.Conversions; c != nil {
		add("Orders", plot.Count(c.Orders))
		add("People who ordered", plot.Count(c.People))
		var sums []string
		for _, x := range c.Revenue {
			sums = append(sums, name(x.Amount.String()+" "+x.Currency))
		}
		add("Revenue", some(sums))
	}
	if l := r.Lift; l != nil {
		what := "More people who ordered than in the hold-out group"
		if l.EndedBy != "" {
			what += ", until " + name(l.EndedBy) + " began to send to that group: " + m.on(l.Until)
		}
		add(what,
			fmt.Sprintf("%+.2f points (%+.2f to %+.2f)", 100*l.Difference, 100*l.Low, 100*l.High))
	}
	if c := r.Cost; c != nil {
		var sums []string
		for _, x := range c.Amounts {
			sums = append(sums, name(x.Amount.String()+" "+x.Currency))
		}
		add("Cost of what was delivered", some(sums))
		if c.Unrated > 0 {
			add("Delivered messages without a rate", plot.Count(c.Unrated))
		}
	}
	if len(t.Rows) == 0 {
		return panel{}
	}
	p := panel{ID: "brought", Title: "What it brought", Class: "w6 amounts", Drawing: t.HTML()}
	if r.Conversions == nil {
		p.Title = "What it cost"
	}
	return p
}

// some names the first two sums, and how many others there are.
func some(sums []string) string {
	switch {
	case len(sums) == 0:
		return "none"
	case len(sums) > 2:
		return strings.Join(sums[:2], ", ") + fmt.Sprintf(" and in %d others", len(sums)-2)
	}
	return strings.Join(sums, ", ")
}
