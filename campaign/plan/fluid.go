package plan

import (
	"math"
	"slices"

	"campaignd/campaign"
)

// fluid runs the policy of the senders on a virtual clock. Rows are a fluid: between two events
// each run has a rate on each of its numbers. An event is the opening or the closing of a window,
// the end of a segment, a limit that is used up or renewed, a hold that ends, or a whole hour.
type fluid struct {
	s         *Situation
	edges     []*calendar // by run and group
	t         float64     // seconds since Situation.Now
	runs      []flowRun
	numbers   []flowNumber
	tiers     []places
	budgets   []budget
	post      float64 // posts for each row
	sent      float64 // messages for each row
	kept      float64 // messages for each row that the service does not refuse: limits count these
	speed     float64 // factor of every rate
	latency   float64 // seconds
	eventless bool    // nothing flows, and nothing will change

	wants []Want // of one number, used again
	whose []int  // the runs of wants
	taken []float64
}

type flowRun struct {
	run      *Run
	order    int
	blocks   []block
	first    int     // the first block with rows
	rows     float64 // left
	budget   float64 // messages; +Inf: any number
	from     float64
	until    float64 // not_after
	deadline float64
	need     float64 // rows per second that the deadline needs
	needed   float64 // when need is computed again
	numbers  []int
	current  []int              // by its numbers: the block that is being sent, or -1
	flow     []float64          // by its numbers: rows per second
	open     bool               // a block with rows is open
	changes  float64            // when a closed block opens, or an open one closes
	by       campaign.LimitedBy // what limits it
	behind   bool               // others have precedence on one of its numbers
	awaits   bool               // blocks wait for the canary
	canary   float64            // rows of the canary that are left
	release  float64            // when the verdict on the canary releases the others; +Inf: not known yet
}

type block struct {
	left   float64
	edges  *calendar
	cursor int
	number int  // -1: no number has begun it
	bound  bool // to its number: it does not move
	after  bool // it waits for the canary
}

type flowNumber struct {
	pace      float64
	tier      int // -1: none
	allowance int // -1: none
	ramp      int // -1: none
	held      float64
	last      shared
}

// shared is how a number was divided last.
type shared struct {
	wants  []Want
	got    []float64
	behind []bool
}

// newFluid begins a course for one draw of the past.
func newFluid(s *Situation, edges []*calendar, d draw) *fluid {
	f := &fluid{s: s, edges: edges}
	f.sent = 1 - d.dropped
	f.post = f.sent / (1 - d.throttled)
	f.kept = f.sent * (1 - d.refused)
	f.speed = math.Exp(d.drift)
	f.latency = d.latency
	index := map[string]int{}
	for i, t := range s.Tiers {
		index["tier "+t.Name] = i
		f.tiers = append(f.tiers, newPlaces(t, s.Now))
	}
	for _, a := range s.Allowances {
		index["allowance "+a.Name] = len(f.budgets)
		f.budgets = append(f.budgets, newAllowance(a, s.Now))
	}
	find := func(what, name string) int {
		if i, known := index[what+" "+name]; known {
			return i
		}
		return -1
	}
	for i, n := range s.Numbers {
		index["number "+n.ID] = i
		own := flowNumber{
			pace: n.Pace * f.speed * (1 - d.slowed), tier: find("tier", n.Tier), allowance: find("allowance", n.Allowance),
			ramp: -1, held: math.Max(seconds(n.Held, s.Now), 0),
		}
		if n.Held.IsZero() {
			own.held = 0
		}
		if !(own.pace > 0) {
			own.pace = 0
		}
		own.pace = math.Min(own.pace, 1e9)
		if ramp := newRamp(n, s.Now); ramp != nil {
			own.ramp = len(f.budgets)
			f.budgets = append(f.budgets, *ramp)
		}
		f.numbers = append(f.numbers, own)
	}
	next := 0
	for i := range s.Runs {
		r := &s.Runs[i]
		fr := flowRun{run: r, order: i, budget: math.Inf(1), until: seconds(r.NotAfter, s.Now), deadline: seconds(r.Deadline, s.Now),
			release: seconds(r.Released, s.Now)}
		if r.Budget >= 0 {
			fr.budget = float64(r.Budget)
		}
		if !r.From.IsZero() {
			fr.from = math.Max(seconds(r.From, s.Now), 0)
		}
		for _, id := range r.Numbers {
			if k := find("number", id); k >= 0 {
				fr.numbers = append(fr.numbers, k)
			}
		}
		for _, g := range r.Groups {
			b := block{left: float64(max(0, g.Remaining)), edges: edges[next], number: -1, bound: g.Bound, after: g.AfterCanary}
			if fr.awaits = fr.awaits || b.after; !b.after {
				fr.canary += b.left
			}
			next++
			if g.Number != "" {
				b.number = find("number", g.Number)
			}
			fr.rows += b.left
			fr.blocks = append(fr.blocks, b)
		}
		fr.current, fr.flow = make([]int, len(fr.numbers)), make([]float64, len(fr.numbers))
		f.runs = append(f.runs, fr)
	}
	return f
}

// tiny is the shortest step, in seconds: less would vanish beside a year.
const tiny = 1e-6

// least is the amount below which nothing is left: rows are counted in floating point.
const least = 1e-6

// step chooses the rates from now on, and returns how long they hold, at most limit.
func (f *fluid) step(limit float64) float64 {
	dt := limit
	until := func(at float64) {
		if at > f.t {
			dt = math.Min(dt, at-f.t)
		}
	}
	for i := range f.budgets {
		f.budgets[i].renew(f.t)
		until(f.budgets[i].until)
	}
	for i := range f.runs {
		r := &f.runs[i]
		f.choose(r)
		if r.rows > least {
			until(r.changes)
			until(r.from)
			until(r.until)
			if f.needs(r) {
				until(r.needed)
			}
		}
	}
	for i := range f.numbers {
		until(f.numbers[i].held)
	}
	f.share()
	f.restrict(until)
	f.eventless = true
	for i := range f.runs {
		r := &f.runs[i]
		var total float64
		for k, b := range r.current {
			flow := r.flow[k]
			if b < 0 || flow <= 0 {
				continue
			}
			total += flow
			until(f.t + math.Max(r.blocks[b].left/flow, tiny))
		}
		if total > 0 {
			f.eventless = false
			until(f.t + math.Max(r.budget/(total*f.sent), tiny))
		}
	}
	if dt < limit {
		f.eventless = false
	}
	return dt
}

// needs computes the rate that a run's deadline needs, if it is time for that, and reports whether
// it has a deadline.
func (f *fluid) needs(r *flowRun) bool {
	if math.IsInf(r.deadline, 1) {
		return false
	}
	if f.t < r.needed {
		return true
	}
	groups := map[*calendar]float64{}
	for i := r.first; i < len(r.blocks); i++ {
		groups[r.blocks[i].edges] += r.blocks[i].left
	}
	now := instantAt(f.s.Now, f.t)
	r.need = 0
	for c, rows := range groups {
		g := Group{Remaining: int64(math.Ceil(rows)), Zones: c.zones}
		r.need += JustEnough(now, r.run.Launched, r.run.Deadline, r.run.Window, g)
	}
	r.needed = math.Min(f.t+math.Max(60, (r.deadline-f.t)/32), math.Max(r.changes, f.t+tiny))
	return true
}

// share divides each number among the runs that have something to send over it.
func (f *fluid) share() {
	for i := range f.runs {
		f.runs[i].behind = false
	}
	for n := range f.numbers {
		f.wants, f.whose = f.wants[:0], f.whose[:0]
		pace := f.numbers[n].pace / f.post // rows per second
		for i := range f.runs {
			r := &f.runs[i]
			k := slices.Index(r.numbers, n)
			if k < 0 || r.current[k] < 0 {
				continue
			}
			w := Want{Class: r.run.Class, Weight: r.run.Weight, Deadline: r.run.Deadline, Need: r.need * f.fraction(r, k)}
			if r.run.Rate > 0 {
				w.Rate = math.Max(f.ownPart(r, k), 1e-12)
			}
			f.wants, f.whose = append(f.wants, w), append(f.whose, i)
		}
		last := &f.numbers[n].last
		if last.got == nil || !slices.Equal(last.wants, f.wants) { // most steps change few numbers
			last.wants = append(last.wants[:0], f.wants...)
			last.got, last.behind = Shares(pace, f.wants), last.behind[:0]
			for j := range f.wants {
				last.behind = append(last.behind, Behind(pace, f.wants, last.got, j))
			}
		}
		for j, i := range f.whose {
			r := &f.runs[i]
			r.flow[slices.Index(r.numbers, n)] = last.got[j]
			r.behind = r.behind || last.behind[j]
		}
	}
}

// fraction is what the kth number of a run has of the pace of those that send it.
func (f *fluid) fraction(r *flowRun, k int) float64 {
	var all float64
	for j, n := range r.numbers {
		if r.current[j] >= 0 {
			all += f.numbers[n].pace
		}
	}
	return f.numbers[r.numbers[k]].pace / all
}

// own is a run's own limit in rows per second.
func (f *fluid) own(r *flowRun) float64 { return r.run.Rate * f.speed / f.post }

// ownPart is what a run's own limit leaves for its kth number, in rows per second: the numbers
// before it have their parts already, those behind it count with their pace.
func (f *fluid) ownPart(r *flowRun, k int) float64 {
	left, behind := f.own(r), 0.0
	for j, n := range r.numbers {
		switch {
		case r.current[j] < 0 || j == k:
		case n < r.numbers[k]:
			left -= r.flow[j]
		default:
			behind += f.numbers[n].pace
		}
	}
	own := f.numbers[r.numbers[k]].pace
	return math.Max(left, 0) * own / (own + behind)
}

// advance lets the rates flow for dt.
func (f *fluid) advance(dt float64) {
	if f.taken == nil {
		f.taken = make([]float64, len(f.tiers))
	}
	clear(f.taken)
	for i := range f.runs {
		r := &f.runs[i]
		for k, b := range r.current {
			if b < 0 || r.flow[k] <= 0 {
				continue
			}
			rows := math.Min(r.flow[k]*dt, r.blocks[b].left)
			if r.blocks[b].left -= rows; r.blocks[b].left < least {
				rows += r.blocks[b].left
				r.blocks[b].left = 0
			}
			r.rows -= rows
			if !r.blocks[b].after {
				r.canary -= rows
			}
			r.budget -= rows * f.sent
			n := &f.numbers[r.numbers[k]]
			if n.tier >= 0 {
				f.taken[n.tier] += r.flow[k] * f.kept
			}
			if n.allowance >= 0 {
				f.budgets[n.allowance].left -= rows * f.kept
			}
			if n.ramp >= 0 {
				f.budgets[n.ramp].left -= rows * f.kept
			}
		}
	}
	for i := range f.tiers {
		free, _ := f.tiers[i].free(f.t)
		f.tiers[i].take(f.t, dt, f.taken[i], free)
	}
	f.t += dt
}
