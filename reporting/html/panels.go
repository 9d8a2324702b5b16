package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/plot"
)

// mostLines is how many lines a breakdown has, and how many a story. Further ones are together in
// the last line, so that the report prints to one page.
const mostLines = 5

// panels are the parts of the page, in order.
func (m *maker) panels() []panel {
	all := []panel{m.rate(), m.funnel(), m.latency(), m.failed(), m.skipped(), m.byCountry(), m.byNumber()}
	last := slices.DeleteFunc([]panel{m.happened(), m.brought()}, func(p panel) bool { return p.ID == "" })
	if len(last) == 1 {
		last[0].Class = strings.TrimPrefix(last[0].Class, "w6") // it has the row to itself
	}
	return append(all, last...)
}

func (m *maker) funnel() panel {
	f := m.Report.Funnel
	t := plot.Table{Caption: "How many messages came to each stage", Funnel: true, Columns: []plot.Column{
		{Name: "Stage"}, {Name: "Share", Kind: plot.Bars}, {Name: "Messages", Kind: plot.Number}, {Name: "Percent", Kind: plot.Number},
		{Name: "Of", Kind: plot.Minor}}}
	for _, s := range []struct {
		name   string
		series plot.Series
		n, of  int64
		what   string
	}{
		{"Sendable", plot.Sendable, f.Sendable, m.Report.Rows, "of all rows"},
		{"Accepted", plot.Accepted, f.Accepted, f.Sendable, "of sendable"},
		{"Sent", plot.Sent, f.Sent, f.Accepted, "of accepted"},
		{"Delivered", plot.Delivered, f.Delivered, f.Accepted, "of accepted"},
		{"Read", plot.Read, f.Read, f.Delivered, "of delivered"},
	} {
		share := plot.Percent(s.n, s.of)
		if share == "" {
			s.what = ""
		}
		t.Rows = append(t.Rows, []plot.Cell{{Text: s.name, Strong: true}, {Bar: plot.Bar{Series: s.series, N: s.n, Of: f.Sendable}},
			{Text: plot.Count(s.n), Strong: true}, {Text: share}, {Text: s.what}})
	}
	p := panel{ID: "funnel", Title: "How far messages came", Class: "w7", Drawing: t.HTML(),
		Note: "Sendable: the rows that were not skipped. Accepted by the platform, sent to the phone, delivered on it, read. " +
			"People who hide when they read count as delivered only."}
	if s := m.Report.Responses; s != nil && s.Replied > 0 {
		p.Note += " " + people(s.Replied) + " replied (" + plot.Percent(s.Replied, f.Delivered) + " of delivered)."
	}
	return p
}

// line is one line of a breakdown with its count.
type line struct {
	name string // orders the lines with the same count
	cell plot.Cell
	n    int64
}

// most returns the lines with the highest counts, and how many others there are with how many rows.
func most(all []line) (first []line, others int, rest int64) {
	slices.SortFunc(all, func(a, b line) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	if len(all) <= mostLines {
		return all, 0, 0
	}
	for _, l := range all[mostLines-1:] {
		rest += l.n
	}
	return all[:mostLines-1], len(all) - mostLines + 1, rest
}

func (m *maker) failed() panel {
	sums := map[string]int64{}
	for code, n := range m.Report.Failed {
		sums[code] += n
	}
	for code, n := range m.Report.Refused {
		sums[code] += n
	}
	var all []line
	for code, n := range sums {
		all = append(all, line{code, plot.Cell{Text: capital(plot.Text(m.Report.RefusalSentence(code), maxWords)), Code: plot.Text(code, 32)}, n})
	}
	p := panel{ID: "failed", Title: "Failed and refused, by code", Class: "w7", Sentence: "No message failed, and none was refused."}
	return breakdown(p, "Rows that failed or were refused, by code", "Reason and code", plot.Failed, all)
}

func (m *maker) skipped() panel {
	var all []line
	for reason, n := range m.Report.Skipped {
		words := capital(cmp.Or(campaign.SkipReason(reason).Sentence(), reason))
		all = append(all, line{words, plot.Cell{Text: words}, n})
	}
	p := panel{ID: "skipped", Title: "Skipped, by reason", Class: "w5", Sentence: "No row was skipped."}
	return breakdown(p, "Rows that were skipped, by reason", "Reason", plot.Skipped, all)
}

// breakdown is a table of lines, the largest first.
func breakdown(p panel, caption, what string, series plot.Series, all []line) panel {
	if len(all) == 0 {
		return p
	}
	p.Sentence = ""
	t := plot.Table{Caption: caption, Columns: []plot.Column{
		{Name: what}, {Name: "Rows", Kind: plot.Number}, {Name: "Share", Kind: plot.Bars}}}
	first, others, rest := most(all)
	for _, l := range first {
		t.Rows = append(t.Rows, []plot.Cell{l.cell, {Text: plot.Count(l.n)}, {Bar: plot.Bar{Series: series, N: l.n, Of: all[0].n}}})
	}
	if others > 0 {
		t.Rows = append(t.Rows, []plot.Cell{{Text: fmt.Sprintf("And %d others", others)}, {Text: plot.Count(rest)}, {}})
	}
	p.Drawing = t.HTML()
	return p
}

// place is one country or number.
type place struct {
	name                   string
	all, delivered, failed int64
}

func (m *maker) byCountry() panel {
	var all []place
	for _, c := range m.Summary.Countries {
		if n := c.Rows - c.Skipped; n > 0 {
			all = append(all, place{cmp.Or(m.countries[c.Country], c.Country, "No country"), n, c.Delivered, c.Failed + c.Refused})
		}
	}
	return places(panel{ID: "countries", Title: "By country", Class: "w6", Sentence: "No row could be sent."}, "Country", "Sendable", all)
}

func (m *maker) byNumber() panel {
	var all []place
	for _, c := range m.Summary.Connections {
		var failed, refused int64
		for _, t := range c.Tallies {
			switch t.Status {
			case campaign.Failed:
				failed += t.N
			case campaign.Refused:
				refused += t.N
			}
		}
		if n := c.Funnel.Accepted + refused; c.Connection != "" && n > 0 {
			all = append(all, place{c.Connection, n, c.Funnel.Delivered, failed + refused})
		}
	}
	return places(panel{ID: "numbers", Title: "By number", Class: "w6", Sentence: "No number has sent a message."}, "Number", "Messages", all)
}

// places is a table of countries or numbers, the largest first.
func places(p panel, what, of string, all []place) panel {
	if len(all) == 0 {
		return p
	}
	p.Sentence = ""
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(b.all, a.all), cmp.Compare(a.name, b.name)) })
	if len(all) > mostLines {
		others := place{name: fmt.Sprintf("And %d others", len(all)-mostLines+1)}
		for _, o := range all[mostLines-1:] {
			others.all, others.delivered, others.failed = others.all+o.all, others.delivered+o.delivered, others.failed+o.failed
		}
		all = append(all[:mostLines-1:mostLines-1], others)
	}
	t := plot.Table{Caption: p.Title, Columns: []plot.Column{{Name: what}, {Name: of, Kind: plot.Number},
		{Name: "Delivered", Kind: plot.Number}, {Name: "Failed", Kind: plot.Number}}}
	for _, o := range all {
		t.Rows = append(t.Rows, []plot.Cell{{Text: name(o.name)}, {Text: plot.Count(o.all)},
			{Text: plot.Percent(o.delivered, o.all)}, {Text: plot.Percent(o.failed, o.all)}})
	}
	p.Drawing = t.HTML()
	return p
}
