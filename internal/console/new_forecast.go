package console

import (
	"fmt"
	"time"

	"campaignd/campaign/plan"
	words "campaignd/internal/sentence"
)

// forecastView is when a campaign would be done, hour by hour.
type forecastView struct {
	plan.Forecast
	Curve []curveLine
	Days  bool // a line of the curve is a day
	Band  bool // it is worth a sentence
	Helps []string
	Notes []string
}

type curveLine struct {
	plan.Hour
	Length string // of its bar, in percent
}

// mostLines is the most lines of a curve on a page.
const mostLines = 60

func forecastOf(f plan.Forecast) *forecastView {
	out := &forecastView{Forecast: f, Band: f.High.Sub(f.Low) >= 2*time.Second}
	lines, days := plan.Curve(f.Hours)
	out.Days = days
	most := int64(1)
	for _, l := range lines {
		most = max(most, l.Messages)
	}
	for _, l := range lines[:min(len(lines), mostLines)] {
		out.Curve = append(out.Curve, curveLine{l, fmt.Sprintf("%.1f", 100*float64(l.Messages)/float64(most))})
	}
	if more := len(lines) - len(out.Curve); more > 0 {
		out.Notes = append(out.Notes, words.Count(more, "later day is not shown", "later days are not shown"))
	}
	for _, h := range f.Helps {
		out.Helps = append(out.Helps, h.String())
	}
	if f.Unsent > 0 {
		out.Notes = append(out.Notes, words.Count(f.Unsent, "row is", "rows are")+" not sent, because of not_after or max_messages")
	}
	for _, id := range f.Assumed {
		out.Notes = append(out.Notes, "the service does not tell the throughput of "+clip(id)+"; 80 a second is assumed")
	}
	if len(f.Unread) > 0 {
		out.Notes = append(out.Notes, words.Count(len(f.Unread), "run", "runs")+" of another version cannot be read and is left out")
	}
	return out
}
