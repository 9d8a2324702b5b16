package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/price"
)

// farthest is how far ahead a forecast looks. A later finish counts as never.
const farthest = 366 * 24 * time.Hour

// Group is a part of the rest of a list: the recipients of one window group.
type Group struct {
	Remaining int64            // deliveries still to be sent
	Zones     []*time.Location // as from Zones; used only if the window is in the recipients' zones
	Number    string           // the connection that has begun it; "": none has
	// Bound means that no other connection than Number sends it (docs/limits.md#sticky-numbers).
	Bound bool
	// AfterCanary means that the rows wait for the verdict on the run's canary, which is the groups
	// without it (docs/limits.md#canary).
	AfterCanary bool
}

// Forecast says when the rest of a run will have been sent, and what limits it until then. Times
// are zero and counts are 0 where they are not known.
type Forecast struct {
	Run string `json:"run,omitempty"`
	// Seconds is the time from the first message to the last answer.
	Seconds float64   `json:"seconds"`
	First   time.Time `json:"first,omitzero"`
	Finish  time.Time `json:"finish,omitzero"`
	// Low and High are the band: in one of ten cases the finish is before Low, in another one of ten
	// it is after High.
	Low  time.Time `json:"low,omitzero"`
	High time.Time `json:"high,omitzero"`
	// Never means that the run is not done within 366 days.
	Never bool `json:"never,omitempty"`
	// LimitedBy is what limits the run for the longest part of its time.
	LimitedBy     campaign.LimitedBy `json:"limited_by"`
	Deadline      time.Time          `json:"deadline,omitzero"`
	DeadlineHolds bool               `json:"deadline_holds"` // true without a deadline
	// Messages is how many rows will be sent. Unsent is how many not_after or max_messages will skip.
	Messages int64 `json:"messages"`
	Unsent   int64 `json:"unsent"`
	// Hours are the hours of the clock from now to the finish.
	Hours   []Hour         `json:"hours"`
	Numbers []NumberShare  `json:"numbers"`
	RunsOut []RunsOut      `json:"runs_out"`
	Asset   *AssetForecast `json:"asset,omitempty"` // nil: no medium is deleted before the end
	Helps   []Help         `json:"helps"`
	// Cost is what the messages cost; nil if that is not known.
	Cost *price.Estimate `json:"cost,omitempty"`

	// The caller of Situation.Forecast fills these fields. Note is what the forecast assumes, Assumed
	// are the connections whose throughput is not known, and Unread are the unfinished runs that this
	// version cannot read; they are left out.
	Note    string   `json:"note,omitempty"`
	Assumed []string `json:"assumed,omitempty"`
	Unread  []string `json:"unread,omitempty"`
}

// Hour is what is sent between two full hours of the clock in UTC.
type Hour struct {
	Start    time.Time `json:"start"`
	Messages int64     `json:"messages"`
	// LimitedBy is one limit: if it alone were higher, more would be sent in this hour.
	LimitedBy campaign.LimitedBy `json:"limited_by"`
}

// maxLines is the largest number of lines of a curve by hours.
const maxLines = 48

// Curve returns the lines of a curve for people: hours, or days if there were too many hours. Hours
// in which nothing is sent for the same reason are one line.
func Curve(hours []Hour) (lines []Hour, days bool) {
	days = len(hours) > maxLines
	for _, h := range hours {
		last := len(lines) - 1
		switch {
		case days && last >= 0 && sameDay(lines[last].Start, h.Start):
			if h.Messages > 0 {
				lines[last].LimitedBy = h.LimitedBy
			}
			lines[last].Messages += h.Messages
		case !days && last >= 0 && h.Messages == 0 && lines[last].Messages == 0 && h.LimitedBy == lines[last].LimitedBy:
		default:
			lines = append(lines, h)
		}
	}
	return lines, days
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Format(time.DateOnly) == b.UTC().Format(time.DateOnly)
}

// RunsOut is when, and at which row, a tier, an allowance or a ramp is used up.
type RunsOut struct {
	LimitedBy campaign.LimitedBy `json:"limited_by"` // tier, allowance or ramp
	At        time.Time          `json:"at"`
	Row       int64              `json:"row"` // the first that waits, counted from 1 in the order of sending
}

// AssetForecast is a header medium that the service deletes before the end of the run.
type AssetForecast struct {
	Until  time.Time `json:"until"`
	Unsent int64     `json:"unsent"` // messages that are not sent by then
}

// Forecast computes when s.Runs[run] will have been sent. On a virtual clock all runs compete as
// they do in the senders. The time of the computation grows with segments and events, not with
// rows.
func (s *Situation) Forecast(run int) Forecast {
	edges := calendars(s)
	c := newCourse(s, edges, s.Past.expected(), run)
	c.hourly = true
	c.play()
	f := c.forecast()
	if f.Never {
		f.Helps = s.helps(run, f)
		return f
	}
	f.Low, f.High = s.band(edges, run, c)
	if f.Low.After(f.Finish) {
		f.Low = f.Finish
	}
	if f.High.Before(f.Finish) {
		f.High = f.Finish
	}
	f.Helps = s.helps(run, f)
	return f
}

// course is one simulation of a fluid, as one of its runs goes through it.
type course struct {
	*fluid
	run    *flowRun
	hourly bool // hours, runsOut and asset are wanted
	steps  int

	first    float64 // when the first row is sent; below 0: not yet
	end      float64 // when the last row is sent; +Inf: never
	rows     float64 // sent
	unsent   float64
	waiting  float64                        // seconds in which no window is open
	hours    []hour                         // with hourly
	seconds  map[campaign.LimitedBy]float64 // by what limits the run
	byNumber []float64                      // rows sent by each number of the run
	runsOut  []RunsOut
	asset    float64 // rows sent when the asset is deleted; below 0: it is not
}

// hour is one hour of a course.
type hour struct {
	start   float64
	rows    float64
	seconds map[campaign.LimitedBy]float64
	last    campaign.LimitedBy
}

func newCourse(s *Situation, edges []*calendar, d draw, run int) *course {
	f := newFluid(s, edges, d)
	return &course{fluid: f, run: &f.runs[run], first: -1, end: math.Inf(1), seconds: map[campaign.LimitedBy]float64{},
		byNumber: make([]float64, len(f.runs[run].numbers)), asset: -1}
}

// play runs until the run is done, or until nothing will change any more.
func (c *course) play() {
	limit := farthest.Seconds()
	asset := seconds(c.run.run.AssetUntil, c.s.Now)
	for c.run.rows > least && c.t < limit {
		most := limit - c.t
		if c.hourly {
			most = min(most, c.hourBegins()+3600-c.t)
			if asset > c.t {
				most = min(most, asset-c.t)
			} else if c.asset < 0 {
				c.asset = c.rows
			}
		}
		before := c.run.rows
		dt := c.step(limit - c.t)
		if c.run.rows <= least { // the rest was given up: not_after or max_messages
			c.unsent = before
			break
		}
		dt = min(dt, most)
		if c.eventless {
			c.note(dt)
			return
		}
		c.steps++
		c.note(dt)
		c.advance(dt)
	}
	if c.run.rows <= least {
		c.end = c.t
	}
}

// note adds what a step does for the run.
func (c *course) note(dt float64) {
	var flow float64
	for k, b := range c.run.current {
		if b >= 0 {
			flow += c.run.flow[k]
			c.byNumber[k] += c.run.flow[k] * dt
		}
	}
	if flow > 0 && c.first < 0 {
		c.first = c.t
	}
	by := c.run.by
	if c.hourly {
		c.out(by)
		h := c.hour()
		h.rows += flow * dt
		h.seconds[by] += dt
		h.last = by
	}
	if by == campaign.ByWindow {
		c.waiting += dt
	}
	c.seconds[by] += dt
	c.rows += flow * dt
}

// out notes where a limit of count is used up for the first time.
func (c *course) out(by campaign.LimitedBy) {
	if !ofCount(by) || slices.ContainsFunc(c.runsOut, func(r RunsOut) bool { return r.LimitedBy == by }) {
		return
	}
	c.runsOut = append(c.runsOut, RunsOut{by, instantAt(c.s.Now, c.t), c.run.run.Done + 1 + int64(math.Round(c.rows))})
}

// hourBegins is when the current hour of the clock began.
func (c *course) hourBegins() float64 {
	first := c.s.Now.Truncate(time.Hour).Sub(c.s.Now).Seconds()
	return first + 3600*math.Floor((c.t-first+tiny)/3600)
}

// hour is the current hour of the course.
func (c *course) hour() *hour {
	start := c.hourBegins()
	if n := len(c.hours); n > 0 && c.hours[n-1].start >= start-1 {
		return &c.hours[n-1]
	}
	c.hours = append(c.hours, hour{start: start, seconds: map[campaign.LimitedBy]float64{}})
	return &c.hours[len(c.hours)-1]
}

// limitedBy names the limit of an hour: if it alone were higher, more would be sent. A limit of
// count that is used up at the end of the hour comes first, since a higher rate would only use it
// up sooner. Otherwise it is what limited the sending for longest. Only an hour in which nothing is
// sent is limited by a window or a hold.
func (h *hour) limitedBy() campaign.LimitedBy {
	if ofCount(h.last) {
		return h.last
	}
	best := campaign.ByNone
	idle := func(by campaign.LimitedBy) bool {
		return slices.Contains([]campaign.LimitedBy{campaign.ByWindow, campaign.ByHold, campaign.ByNone, campaign.ByPause}, by)
	}
	for _, by := range everyLimit {
		s := h.seconds[by]
		if s > 0 && (best == campaign.ByNone || !idle(by) && s > h.seconds[best] || idle(by) && idle(best) && s > h.seconds[best]) {
			best = by
		}
	}
	return best
}

// forecast is the forecast that the course gives.
func (c *course) forecast() Forecast {
	r := c.run.run
	at := func(s float64) time.Time { return instantAt(c.s.Now, s) }
	f := Forecast{Run: r.ID, Deadline: r.Deadline, DeadlineHolds: true, Hours: []Hour{}, Numbers: []NumberShare{}, RunsOut: c.runsOut,
		Helps: []Help{}, LimitedBy: campaign.ByNone, Never: math.IsInf(c.end, 1)}
	if f.RunsOut == nil {
		f.RunsOut = []RunsOut{}
	}
	if c.first >= 0 {
		f.First = at(c.first)
	}
	longest := 0.0
	for _, by := range everyLimit {
		if c.seconds[by] > longest {
			f.LimitedBy, longest = by, c.seconds[by]
		}
	}
	if !f.Never {
		end := c.end
		if c.rows > 0 {
			end += c.latency
			f.Seconds = math.Round(1000*(end-c.first)) / 1000
		}
		f.Finish = at(end)
	} else if n := len(c.run.current); n > 0 && longest == 0 {
		f.LimitedBy = c.run.by
	}
	if !r.Deadline.IsZero() {
		f.DeadlineHolds = !f.Never && !f.Finish.After(r.Deadline)
	}
	f.Messages, f.Unsent = int64(math.Round(c.rows*c.sent)), int64(math.Round(c.unsent))
	var sum float64
	var told int64
	for i := range c.hours {
		h := &c.hours[i]
		sum += h.rows * c.sent
		f.Hours = append(f.Hours, Hour{at(h.start).UTC(), int64(math.Round(sum)) - told, h.limitedBy()})
		told = int64(math.Round(sum))
	}
	if f.Never {
		for n := len(f.Hours); n > 1 && f.Hours[n-1].Messages == 0 && f.Hours[n-2].Messages == 0; n-- {
			f.Hours = f.Hours[:n-1]
		}
	}
	for k, n := range c.run.numbers {
		f.Numbers = append(f.Numbers, NumberShare{Connection: c.s.Numbers[n].ID, Messages: int64(math.Round(c.byNumber[k] * c.sent))})
	}
	if c.asset >= 0 {
		f.Asset = &AssetForecast{r.AssetUntil, f.Messages - int64(math.Round(c.asset*c.sent))}
	}
	return f
}

// Missed says that a deadline, counted from the launch, cannot be met.
func (f Forecast) Missed(deadline campaign.Duration) string {
	done := "it is not done within a year"
	if !f.Never {
		done = "it is done at about " + f.Finish.Format("2006-01-02 15:04 MST")
	}
	return fmt.Sprintf("%s after the launch cannot be met: %s, limited by %s", deadline, done, f.LimitedBy)
}
