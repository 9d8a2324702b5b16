package area

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// billed are the categories of the platform's bills.
var billed = []string{"AUTHENTICATION", "MARKETING", "UTILITY"}

// costs are what a delivered message of each category costs in the sandbox. The figures are
// invented.
var costs = map[string]float64{"AUTHENTICATION": 0.03, "MARKETING": 0.08, "UTILITY": 0.02}

// dayCounts are the statuses of an account on one UTC day.
type dayCounts struct {
	sent, delivered, read, failed int
	by                            map[string]int             // delivered, by category
	talks                         map[string]map[uint64]bool // people with a delivered message, by category
}

func (a *Areas) analyticsHandlers() map[string]Handler {
	return map[string]Handler{
		"analytics_messaging": a.messagingDays, "analytics_conversations": a.conversationDays,
		"analytics_pricing": a.pricingDays, "analytics_archive": a.archiveDays,
	}
}

// countDays counts the statuses of the account of a connection, from start to end. Days before the
// start of the sandbox are those of World.History.
func (a *Areas) countDays(c *Call, start, end time.Time) map[string]*dayCounts {
	counts := map[string]*dayCounts{}
	company := uint64(slices.Index(a.Companies, a.companies[c.Connection.Company]))
	first := a.Began.UTC().Truncate(24*time.Hour).AddDate(0, 0, -a.History)
	for at := start; !at.After(end); at = at.AddDate(0, 0, 1) {
		d := &dayCounts{by: map[string]int{}, talks: map[string]map[uint64]bool{}}
		counts[at.Format(time.DateOnly)] = d
		if !at.Before(first) && at.Before(a.Began.UTC().Truncate(24*time.Hour)) {
			d.sent = 200 + int(a.Draw(uint64(at.Unix()/86_400), company)%100)
			d.delivered, d.read, d.failed = d.sent*95/100, d.sent*60/100, d.sent-d.sent*95/100
			d.by["MARKETING"] = d.delivered
		}
	}
	a.Statuses(func(s Status) {
		d := counts[s.At.UTC().Format(time.DateOnly)]
		if d == nil || s.Company != c.Connection.Company {
			return
		}
		switch s.Name {
		case "sent":
			d.sent++
		case "read":
			d.read++
		case "failed":
			d.failed++
		case "delivered":
			d.delivered++
			if s.Template != nil {
				d.by[s.Template.Category]++
				if d.talks[s.Template.Category] == nil {
					d.talks[s.Template.Category] = map[uint64]bool{}
				}
				d.talks[s.Template.Category][s.To] = true
			}
		}
	})
	return counts
}

// eachDay calls row with every day of the request, and returns the list of what it appends.
func eachDay[T any](a *Areas, c *Call, window int, row func(date string, d *dayCounts) []T) (any, *Refusal) {
	start, end, ref := c.days(window)
	if ref != nil {
		return nil, ref
	}
	rows, counts := []T{}, a.countDays(c, start, end)
	for at := start; !at.After(end); at = at.AddDate(0, 0, 1) {
		date := at.Format(time.DateOnly)
		rows = append(rows, row(date, counts[date])...)
	}
	return list(rows), nil
}

// analyticsWindow is how many days the platform keeps (docs/service.md#limits).
const analyticsWindow = 365

func (a *Areas) messagingDays(c *Call) (any, *Refusal) {
	type row struct {
		Date      string `json:"date"`
		Sent      int    `json:"sent"`
		Delivered int    `json:"delivered"`
	}
	return eachDay(a, c, analyticsWindow, func(date string, d *dayCounts) []row { return []row{{date, d.sent, d.delivered}} })
}

func (a *Areas) conversationDays(c *Call) (any, *Refusal) {
	type row struct {
		Date          string `json:"date"`
		Category      string `json:"category"`
		Conversations int    `json:"conversations"`
	}
	return eachDay(a, c, analyticsWindow, func(date string, d *dayCounts) (rows []row) {
		for _, k := range billed {
			n := cmp.Or(len(d.talks[k]), d.by[k]) // of World.History, one message a person
			rows = append(rows, row{date, k, n})
		}
		return rows
	})
}

func (a *Areas) pricingDays(c *Call) (any, *Refusal) {
	type row struct {
		Date     string  `json:"date"`
		Category string  `json:"category"`
		Type     string  `json:"type"`
		Volume   int     `json:"volume"`
		Cost     float64 `json:"cost"`
	}
	return eachDay(a, c, analyticsWindow, func(date string, d *dayCounts) (rows []row) {
		for _, k := range billed {
			rows = append(rows, row{date, k, "REGULAR", d.by[k], math.Round(float64(d.by[k])*costs[k]*100) / 100})
		}
		return rows
	})
}

// archiveWindow is how many days the archive of the sandbox reaches back: those of the longest
// history.
const archiveWindow = 3660

// archiveDays are the finished days, also those that the platform does not keep any more.
func (a *Areas) archiveDays(c *Call) (any, *Refusal) {
	type row struct {
		Date      string `json:"date"`
		Sent      int    `json:"sent"`
		Delivered int    `json:"delivered"`
		Read      int    `json:"read"`
		Failed    int    `json:"failed"`
	}
	today := c.Now.UTC().Format(time.DateOnly)
	return eachDay(a, c, archiveWindow, func(date string, d *dayCounts) []row {
		if date >= today {
			return nil
		}
		return []row{{date, d.sent, d.delivered, d.read, d.failed}}
	})
}
