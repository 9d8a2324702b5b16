package sender_test

import (
	"time"

	"campaignd/campaign"
)

// witness sees every intent and every POST of every process, and compares them with what may be
// posted at that instant.
type witness struct {
	granted    map[sent][]time.Time // when the transaction of each granted intent began
	posted     map[sent]int
	tried      map[sent]int
	posts      map[string][]time.Time // of a run with a rate, by its template
	suppressed map[string]time.Time   // by the operator, from then on
}

// sent is a person and the run's template.
type sent struct{ to, template string }

// grant takes the answers of one Intend whose transaction began at began.
func (s *witness) grant(w *world, began time.Time, in []campaign.Intent, granted []campaign.Granted) {
	w.mu.Lock()
	var late []string
	for i, g := range granted {
		if g.Denied || g.Fenced {
			continue
		}
		r := w.runOf(in[i].Lease.Run)
		r.granted = max(r.granted, g.To)
		if !r.held.IsZero() && began.Sub(r.held) > stopped {
			late = append(late, "an intent of "+r.name+" was granted although the service had stopped it ("+r.heldBy+")")
		}
		if name, h := w.policy.held(in[i].Connection, r.template, began); h != nil && began.Sub(h.from) > stopped {
			late = append(late, "an intent of "+r.name+" was granted over "+in[i].Connection+" although "+name.id+" was held ("+h.why+")")
		}
		if !r.stopped.IsZero() && began.After(r.stopped) {
			late = append(late, "an intent of "+r.name+" was granted although the operator had stopped it")
		}
		seqs := make([]int64, 0, 64)
		for seq := in[i].From; seq < g.To; seq++ {
			seqs = append(seqs, seq)
		}
		for _, retry := range in[i].Retries {
			seqs = append(seqs, retry.Seq)
		}
		for _, seq := range seqs {
			if _, skipped := g.Skipped[seq]; skipped {
				continue
			}
			k := sent{r.phones[seq], r.template}
			s.granted[k] = append(s.granted[k], began)
			if at, no := s.suppressed[k.to]; no && began.After(at) {
				late = append(late, "an intent to "+k.to+" was granted although it had been suppressed")
			}
		}
	}
	w.mu.Unlock()
	for _, p := range late {
		w.bad("%s", p)
	}
}

// post notes a POST that reaches the wire now, and tells how many its recipient has had.
func (s *witness) post(w *world, m posted) (nth int) {
	now := time.Now()
	k := m.sent()
	w.mu.Lock()
	s.posted[k]++
	nth = s.posted[k]
	unmeant := s.posted[k] > len(s.granted[k])
	var run *campaignRun
	for _, c := range w.load.runs {
		if c.template == k.template {
			run = c
		}
	}
	if run != nil && run.limits.Rate > 0 {
		s.posts[k.template] = append(s.posts[k.template], now)
	}
	var stopped time.Time
	if run != nil {
		stopped = run.stopped
	}
	w.mu.Unlock()
	w.policy.post(w, m, run)
	// Attempts that are queued when a stop is written, or when the time is up, are unposted at the
	// next look: at most one reading of the runs, every fourth tick, and one request to the ledger
	// later.
	slack := 4*w.load.tick + 500*time.Millisecond
	switch {
	case run == nil:
		w.bad("a POST of nobody's template %q", k.template)
	case unmeant:
		w.bad("%s was posted to %s without an intent of its own", k.template, k.to)
	case !stopped.IsZero() && now.Sub(stopped) > slack:
		w.bad("%s was posted to %s %v after the operator had stopped the run", k.template, k.to, now.Sub(stopped))
	case run.limits.NotAfter > 0 && now.Sub(run.created) > time.Duration(run.limits.NotAfter)+slack:
		w.bad("%s was posted to %s %v after launch, not_after is %v", k.template, k.to, now.Sub(run.created), time.Duration(run.limits.NotAfter))
	case run.closes > 0 && shut(run, now):
		w.bad("%s was posted to %s at %s, outside its window", k.template, k.to, now.UTC().Format(time.TimeOnly))
	}
	return nth
}

// tries counts the requests for a message that were begun, posted or not.
func (s *witness) tries(w *world, k sent) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.tried[k]++
	return s.tried[k]
}

// shut reports whether the run's window is closed at an instant.
func shut(r *campaignRun, now time.Time) bool {
	since := now.Sub(newYear)
	return since >= r.closes && since < r.opens
}

// stop says that an operator's stop is written.
func (s *witness) stop(w *world, r *campaignRun, cancelled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.stopped.IsZero() {
		r.stopped = time.Now()
	}
	r.cancelled = r.cancelled || cancelled
}

// resume notes that an operator is about to resume the run, unless it is cancelled.
func (s *witness) resume(w *world, r *campaignRun) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.cancelled {
		r.stopped = time.Time{}
	}
	w.policy.resume(r, true)
	return !r.cancelled
}

// suppress says that an operator's suppression is written.
func (s *witness) suppress(w *world, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, already := s.suppressed[to]; !already {
		s.suppressed[to] = time.Now()
	}
}

// runOf finds the run of a number.
func (w *world) runOf(no campaign.RunNo) *campaignRun {
	for _, r := range w.load.runs {
		if r.no == no {
			return r
		}
	}
	panic("no such run")
}

func (s *witness) isCancelled(w *world, r *campaignRun) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return r.cancelled
}

// approve says that the run's template is about to be approved again, which makes it go on.
func (s *witness) approve(w *world, r *campaignRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.approved, r.disapproved = time.Now(), false
	for _, c := range w.load.connections {
		w.policy.lifts(holdName{campaign.HoldTemplate, campaign.TemplateID(simOrigin(c.ID).Account, r.template, "en_US")})
	}
	w.policy.resume(r, false)
}

// disapprove says that a webhook is about to tell that the run's template is paused.
func (s *witness) disapprove(w *world, r *campaignRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.disapproved = true
}
