package html

import (
	"html/template"
	"slices"
	"time"

	"campaignd/internal/plot"
)

// Part is a part of the report, for other pages.
type Part struct {
	ID, Title, Class, Remark, Sentence string
	Drawing, Figures                   template.HTML
	Story                              []Told
	Timed                              bool // it has times of the day
}

// Told is a thing that happened. Without a time it counts others.
type Told struct {
	At       time.Time
	Sentence string
}

// Course returns how a run went in time, in UTC: its rate against the limit, the time to delivery,
// and what happened, as far as there is something to show.
func Course(f *Facts) (parts []Part) {
	m := &maker{Facts: f, zone: time.UTC, stamped: true}
	all := []panel{m.happened()}
	if f.Report.Funnel.Accepted > 0 {
		all = slices.Insert(all, 0, m.rate(), m.latency())
	}
	for _, p := range slices.DeleteFunc(all, func(p panel) bool { return p.ID == "" }) {
		part := Part{ID: p.ID, Title: p.Title, Class: p.Class, Remark: p.Remark, Sentence: p.Sentence, Drawing: p.Drawing, Figures: p.Figures,
			Timed: p.ID == "rate" && p.Drawing != ""}
		for _, t := range p.Story {
			part.Story = append(part.Story, Told{t.when, plot.Text(t.Sentence, maxWords)})
		}
		parts = append(parts, part)
	}
	return parts
}
