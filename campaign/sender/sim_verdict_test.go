package sender_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// look compares every other second what a run does with what was asked: it is paused only for a
// reason, and without a reason to stand still it goes on.
func (p *policy) look(w *world, r *campaignRun, run campaign.Run, lanes []campaign.LaneReport) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	r.share(lanes)
	if run.State == campaign.Paused && run.Reason != campaign.PausedByOperator && !r.named[run.Reason] {
		w.worse("%s is paused (%s), and no answer asked for that: %s", r.name, run.Reason, run.Detail)
	}
	if r.granted == 0 || r.granted >= int64(len(r.phones)) || run.State != campaign.Running || run.Wanted != campaign.WantRun {
		return
	}
	if r.limits != (file.Limits{}) || r.closes > 0 || !r.stopped.IsZero() || w.load.inFlight > 0 {
		return
	}
	if r.disapproved {
		return
	}
	since := p.life
	for _, at := range []time.Time{r.lastPost, r.resumed, r.approved} {
		if at.After(since) {
			since = at
		}
	}
	for name, at := range p.lifted {
		if at.After(since) && name.names(r) {
			since = at
		}
	}
	for _, c := range r.connections {
		if _, h := p.held(c, r.template, now); h != nil {
			return
		}
		if b := p.breakers[c]; b != nil && (!b.opened.IsZero() || b.unproven() >= 15) {
			return
		}
	}
	for name, h := range p.holds {
		if h.until.After(since) && name.names(r) {
			since = h.until
		}
	}
	for name := range p.perhaps { // what the dead process had written after all
		if at := p.stored[name]; at.After(since) && name.names(r) {
			since = at
		}
	}
	if still := now.Sub(since); still > max(goesOn, r.turn()+afterTurn) {
		w.worse("%s stands still for %v at delivery %d of %d, and nothing names it", r.name, still, r.granted, len(r.phones))
	}
}

// goesOn is how long a run may stand still that nothing holds: a reading of the runs, a claim, and
// an intent.
const goesOn = 8 * time.Second

// afterTurn is how much later than its turn a run may be posted: its turn is noticed when a group
// is chosen, and two slots of 1 s may pass until its attempt has one.
const afterTurn = 3 * time.Second

// share notes what the lanes of the run tell: that other runs come first, and what it gets.
func (r *campaignRun) share(lanes []campaign.LaneReport) {
	for _, l := range lanes {
		if l.Run == r.no && l.LimitedBy == campaign.ByShare && l.Rate > 0 && (r.shares[1] == 0 || l.Rate < r.shares[1]) {
			r.shares[1] = l.Rate
		}
	}
}

// turn is how long the run may wait for its turn at a number: the time of one message at the least
// share that its lanes told. At a 20th of 1 message per second, to which refusals slow a number, it
// is 20 s.
func (r *campaignRun) turn() time.Duration {
	longest := 0.0 // seconds
	for _, rate := range r.shares {
		if rate > 0 {
			longest = max(longest, 1/rate)
		}
	}
	return time.Duration(longest * float64(time.Second))
}

// refused compares a delivery that ended as refused with the answers that it got.
func (p *policy) refused(w *world, r *campaignRun, row int64, k sent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := p.heard[k]
	if len(all) == 0 {
		return // the process never read it
	}
	counted := 0
	for _, h := range all {
		if h.kind == "retryable" {
			counted++
		}
	}
	switch last := all[len(all)-1]; last.kind {
	case "retryable":
		if counted < 2 {
			w.worse("%s row %d is refused after one try that counts: %s", r.name, row, told(all))
		}
		if len(all) > counted {
			w.counts["refused after its retry, throttled before"]++
		}
	case "final", "payload":
	default:
		w.worse("%s row %d is refused by %s, which is not about it: %s", r.name, row, last.kind, told(all))
	}
	if counted > 2 && r.policy != campaign.UncertainResend {
		w.worse("%s row %d was tried %d times, want 2: %s", r.name, row, counted, told(all))
	}
}

func told(all []heard) string {
	var kinds []string
	for _, h := range all {
		kinds = append(kinds, h.kind)
	}
	return strings.Join(kinds, ", ")
}

// meaning is what docs/states.md says of an answer; how long a number rests because of it; its
// code.
func meaning(resp *http.Response, text []byte, err error) (kind string, wait time.Duration, code int) {
	if err != nil {
		return "doubt", 0, 0
	}
	if resp.StatusCode/100 == 2 {
		var accepted struct{ Data struct{ MessageID string } }
		if json.Unmarshal(text, &accepted) != nil || accepted.Data.MessageID == "" || len(accepted.Data.MessageID) > 256 {
			return "doubt", 0, 0
		}
		return "accepted", 0, 0
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var said struct {
		Error string
		Meta  struct{ Code int }
	}
	_ = json.Unmarshal(body, &said) // a proxy's page says nothing
	code = said.Meta.Code
	if code == 0 {
		code = resp.StatusCode
	}
	switch status := resp.StatusCode; {
	case err != nil, status >= 500, status == 408, status == 409, status == 499:
		return "doubt", 0, code
	case status == 429:
		s, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return "throttled", time.Duration(s) * time.Second, code
	case status == 402:
		return "allowance", 0, code
	case said.Error == "account_deactivated":
		return "account", 0, code
	}
	switch code {
	case 4:
		return "throttled", time.Minute, code
	case 80007, 133016:
		return "throttled", 10 * time.Minute, code
	case 131057:
		return "throttled", 90 * time.Second, code
	case 130429:
		return "throttled", 0, code
	case 131056:
		return "pair", 0, code
	case 131000:
		return "retryable", 0, code
	case 131048:
		return "number", 0, code
	case 132015:
		return "template", 0, code
	case 132000:
		return "payload", 0, code
	}
	return "final", 0, code
}
