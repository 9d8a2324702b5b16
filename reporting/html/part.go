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
}

// Told is a thing that happened, as it is written.
type Told struct{ At, Sentence string }

// Course returns how a run went in time, in UTC: its rate against the limit, the time to delivery,
// and what happened, as far as there is something to show.
func Course(f *Facts) (parts []Part) {
	m := &maker{Facts: f, zone: time.UTC}
	all := []panel{m.happened()}
	if f.Report.Funnel.Accepted > 0 {
		all = slices.Insert(all, 0, m.rate(), m.latency())
	}
	for _, p := range slices.DeleteFunc(all, func(p panel) bool { return p.ID == "" }) {
		part := Part{p.ID, p.Title, p.Class, p.Remark, p.Sentence, p.Drawing, p.Figures, nil}
		for _, t := range p.Story {
			part.Story = append(part.Story, Told{t.At, plot.Text(t.Sentence, maxWords)})
		}
		if len(part.Story) > 0 {
			part.Remark = "times in UTC"
		}
		parts = append(parts, part)
	}
	return parts
}
