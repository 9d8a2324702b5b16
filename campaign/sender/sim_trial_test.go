package sender_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// trial is a series of refusals that the sender must tell apart: about one recipient, a number, a
// run, or everybody. They come beside the faults of the service. Half of the seeds have one.
type trial struct {
	kind       string // none, throttled, number, account, payload, outage
	code       int    // throttled: the platform's code; 429: the status alone
	percent    int    // throttled: of the recipients, this many
	times      int    // throttled: so often each, before it is refused for a reason that counts
	most       int    // throttled: so many answers in all
	connection string // number, outage: over which
	run        int    // number, account, payload: of which, so that the others are stopped by that or are not
	from       int    // the others begin with this POST
	lasts      time.Duration

	seen  int // POSTs that it is about, so far
	began time.Time
}

// throttling are the answers that never count as a try. The codes with a wait make the whole number
// rest: 4 a minute, 131057 90 s, 80007 and 133016 ten minutes. A code that is named more often is
// chosen more often.
var throttling = []struct{ code, percent, times, most int }{
	{130429, 30, 3, 1000}, {131056, 30, 2, 1000}, {429, 30, 3, 1000}, {130429, 40, 2, 1000}, {131056, 40, 1, 1000}, {4, 12, 1, 8},
	{131057, 12, 1, 8},
	{130429, 50, 1, 1000}, {131056, 50, 2, 1000}, {429, 50, 2, 1000}, {131057, 12, 1, 8}, {4, 12, 1, 8}, {80007, 5, 1, 1}, {133016, 5, 1, 1},
}

// trialKind chooses what the trial of a seed is about. The seeds that once failed without one keep
// their course.
func (w *world) trialKind() string {
	if slices.ContainsFunc(regressions, func(r regression) bool { return r.seed == w.seed && !r.trial }) {
		return "none"
	}
	return []string{
		"throttled", "throttled", "throttled", "throttled", "number", "account", "payload", "outage", "none", "none", "none", "none", "none",
		"none", "none",
	}[w.draw("what the platform says", 15)]
}

// drawTrial chooses the rest of it.
func (w *world) drawTrial(l *workload) {
	t := &l.trial
	if t.kind = w.trialKind(); l.allowance > 0 {
		t.kind = "none"
	}
	chosen := throttling[w.draw("throttling answer", len(throttling))]
	t.code, t.percent, t.times, t.most = chosen.code, chosen.percent, 1+w.draw("throttled times", chosen.times), chosen.most
	t.connection = l.connections[w.draw("trial's connection", len(l.connections))].ID
	t.run = w.draw("trial's run", len(l.runs))
	t.from = 1 + w.draw("trial's first", 30)
	t.lasts = time.Duration(1+w.draw("trial lasts", 8)) * time.Second
	if t.kind == "outage" { // longer than the first rest of a breaker
		t.lasts *= 3
	}
	if t.kind == "number" || t.kind == "account" || t.kind == "payload" {
		t.lasts += 15 * time.Second // long enough to see a sender that goes on although it must not
	}
}

// answer is what the platform says to a POST in place of the service; nil: the service answers. nth
// counts the POSTs to this recipient.
func (w *world) answer(m posted, nth int) *http.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.load.trial
	now := time.Now()
	about := false
	switch t.kind {
	case "throttled":
		if w.draw("who is throttled", 100, hash(m.To)) >= t.percent {
			return nil
		}
		if nth <= t.times {
			if t.seen++; t.seen > t.most {
				return nil
			}
			w.counts["trial: throttled "+strconv.Itoa(t.code)]++
			return refusal(t.code)
		}
		// Then one that counts, or two: the second is the end.
		if nth <= t.times+w.draw("then refused", 3, hash(m.To)) {
			w.counts["trial: refused after it was throttled"]++
			return refusal(131000)
		}
		return nil
	case "outage":
		about = m.ConnectionID == t.connection
	case "number":
		about = m.ConnectionID == t.connection && m.Template.Name == w.load.runs[t.run].template
	case "account", "payload":
		about = m.Template.Name == w.load.runs[t.run].template
	}
	if !about {
		return nil
	}
	if t.seen++; t.seen == t.from {
		t.began = now
	}
	if t.began.IsZero() || now.Sub(t.began) > t.lasts {
		return nil
	}
	w.counts["trial: "+t.kind]++
	return refusal(map[string]int{"number": 131048, "outage": 500, "account": 403, "payload": 132000}[t.kind])
}

// refusal is an answer by a platform code, or by a status.
func refusal(code int) *http.Response {
	status, body := http.StatusBadRequest, ""
	switch code {
	case 429, 500:
		status = code
	case 403:
		status, body = code, `{"error":"account_deactivated","message":"The client is suspended."}`
	default:
		class, retryable := "retryable", true
		switch code {
		case 131048:
			class, retryable = "account", false
		case 132000:
			class, retryable = "parameter", false
		}
		body = fmt.Sprintf(`{"error":"send_%s","message":"Refused.","meta":{"errorClass":%q,"retryable":%v,"code":%d}}`, class, class, retryable,
			code)
	}
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
		ContentLength: int64(len(body)),
	}
}

// posted is what the witness reads of a POST.
type posted struct {
	ConnectionID string
	To           string
	Template     struct{ Name string }
}

func (m posted) sent() sent { return sent{m.To, m.Template.Name} }

func (w *world) read(body []byte) (m posted) {
	if err := json.Unmarshal(body, &m); err != nil {
		w.bad("a POST cannot be read: %v", err)
	}
	return m
}
