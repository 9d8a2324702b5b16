package sandbox

import (
	"bytes"
	"context"
	"mime"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"campaignd/internal/sandbox/area"
	"campaignd/internal/sandbox/arrival"
	"campaignd/internal/sandbox/draw"
	"campaignd/internal/sandbox/request"
)

// maxBody is the longest body of a request, in bytes.
const maxBody = 1 << 20

// post is one POST /api/v1/messages.
type post struct {
	m    *request.Message
	conn *connection  // nil: unknown, or out of the key's scope
	to   uint64       // 0: not a phone number
	nth  uint64       // number of POSTs of this pair, including this one
	tpl  *area.Record // nil: no template, or unknown
	mark string       // of the Cloud API, which statuses bring back
}

// send is POST /api/v1/messages (docs/service.md#send-request).
func (s *Sandbox) send(w http.ResponseWriter, r *http.Request, key *Key) {
	var m *request.Message
	raw, ref := body(w, r)
	if ref == nil {
		m, ref = decode(raw)
	}
	if ref != nil {
		s.refuse(w, nil, ref)
		return
	}
	m.Unwrap()
	p := &post{m: m, conn: s.scoped(key, m.ConnectionID)}
	s.take(w, r, p, m.Shape)
}

// take brings a decoded message through the counts, the faults and the rules to its answer. shape
// finds what is wrong with the message itself; it is asked when no fault came before.
func (s *Sandbox) take(w http.ResponseWriter, r *http.Request, p *post, shape func() *refusal) {
	var plus bool
	if p.to, plus = parsePhone(p.m.To); p.to != 0 && !plus {
		s.noPlus.Add(1)
	}
	s.arrive(p, arrival.When(r.Context()))
	f := s.faults.Load()
	var latency time.Duration
	if f.Latency != (Delay{}) {
		s.fired[faultLatency].Add(1)
		latency = f.Latency.draw(s.hash(drawLatency, p.keys()...))
		// The sandbox continues with the message even if the client leaves.
		s.sleep(context.WithoutCancel(r.Context()), latency/2)
	}
	if p.conn != nil && p.to != 0 && s.beforeAcceptance(w, r, f, p) {
		return
	}
	ref := shape()
	var got accepted
	if ref == nil {
		got, ref = s.decide(f, p)
	}
	s.sleep(r.Context(), latency-latency/2)
	if ref != nil {
		s.refuse(w, p, ref)
		return
	}
	s.answer(w, r, f, p, got)
}

// keys returns the keys of the draws about this POST.
func (p *post) keys() []uint64 {
	if p.conn == nil {
		return []uint64{maxConnections, p.to, p.nth}
	}
	return []uint64{uint64(p.conn.number), p.to, p.nth}
}

func (p *post) event(kind, id, detail string) Event {
	e := Event{At: time.Now(), Kind: kind, MessageID: id, Detail: detail, Connection: p.m.ConnectionID}
	if p.to != 0 {
		e.To = formatPhone(p.to)
	}
	return e
}

func decode(raw []byte) (*request.Message, *refusal) {
	m := new(request.Message)
	if err := m.Decode(raw); err != nil {
		return nil, area.RefuseRequest(err.Error() + ".")
	}
	return m, nil
}

// body reads a JSON body (docs/service.md#conventions).
func body(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, area.RefuseRequest("Content-Type must be application/json.")
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 && r.ContentLength < maxBody {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // one allocation for the whole body
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	raw := buf.Bytes()
	if err != nil {
		return nil, area.RefuseRequest("The body could not be read: " + err.Error() + ".")
	}
	if !utf8.Valid(raw) {
		return nil, area.RefuseRequest("The body is not UTF-8.")
	}
	return raw, nil
}

// arrive counts a POST that came in at a time.
func (s *Sandbox) arrive(p *post, at time.Time) {
	s.mu.Lock()
	s.count(p, at)
	s.mu.Unlock()
	if s.opt.OnEvent != nil {
		s.event(p.event("post", "", strconv.FormatUint(p.nth, 10)))
	}
}

// count counts a POST, or a message of a campaign of the service. The caller holds s.mu.
func (s *Sandbox) count(p *post, at time.Time) {
	if p.conn != nil {
		p.conn.posts++
		p.conn.arrivals.Add(at)
		if p.to != 0 {
			k := pairKey(p.conn.number, p.to)
			pr := s.pairs[k]
			pr.posts++
			p.nth = uint64(pr.posts)
			s.pairs[k] = pr
		}
	}
}

// refuse counts a refusal and writes it. Unless Options.Throttle is ThrottlePlatform, an HTTP 429
// replaces the refusal 130429.
func (s *Sandbox) refuse(w http.ResponseWriter, p *post, ref *refusal) {
	s.mu.Lock()
	s.refused[ref.Code]++
	s.mu.Unlock()
	if p != nil && s.opt.OnEvent != nil {
		s.event(p.event("refused", "", ref.Code))
	}
	if ref.Meta != nil && ref.Meta.Code == 130429 && s.opt.Throttle != ThrottlePlatform {
		s.tooMany(w, s.opt.Throttle == ThrottleRetryAfter, s.opt.ThrottleWait)
		return
	}
	refuse(w, ref)
}

// tooMany answers 429. The document does not show rate limits, so the answer exists with and
// without Retry-After.
func (s *Sandbox) tooMany(w http.ResponseWriter, after bool, wait time.Duration) {
	if !after {
		writeRaw(w, http.StatusTooManyRequests, "text/plain; charset=UTF-8", nil)
		return
	}
	// Retry-After has whole seconds (RFC 9110, section 10.2.3), so wait is rounded up.
	w.Header().Set("Retry-After", strconv.FormatInt(int64((max(wait, time.Second)+time.Second-1)/time.Second), 10))
	refuse(w, &refuseTooMany)
}

// accepted is a message that the sandbox has accepted.
type accepted struct {
	id       string
	index    uint32 // index of the record
	before   string // messageId of the previous message of the same connection
	warning  string
	postings []posting
	extras   []int // extras of the timeline steps that were due at this message
}

// decide applies the rules. If no rule refuses the message, it accepts it.
func (s *Sandbox) decide(f *Faults, p *post) (accepted, *refusal) {
	now := time.Now()
	s.mu.Lock()
	s.areas.Due(now)
	var got accepted
	warning, ref := s.rules(f, p, now)
	if ref == nil {
		got = s.accept(f, p, now, warning)
	}
	extras := append(got.extras, s.takeFresh()...)
	s.mu.Unlock()
	s.pushAll(extras)
	return got, ref
}

// rules applies the rules of docs/service.md#send-request that need the state of the account. It
// begins with the rules of the connection (11, 10) and continues with 5 to 8 in their order. The
// rules of the platform (9) come after them, because a send that the service refuses never reaches
// the platform. Rule 4 is last: it gives a warning, or a refusal of the platform. The caller holds
// s.mu.
func (s *Sandbox) rules(f *Faults, p *post, now time.Time) (warning string, _ *refusal) {
	if p.conn == nil {
		return "", &area.RefuseConnection // rule 11
	}
	if p.conn.company.Suspended {
		return "", &area.RefuseSuspended // rule 10
	}
	if t := p.m.Template; t != nil {
		p.tpl = s.areas.Template(t.Name, t.Language, p.conn.Company)
	}
	if s.areas.Blocked(p.conn.ID, p.to) {
		return "", &refuseBlocked // assumed; the document shows no answer
	}
	if p.tpl != nil {
		p.m.Template.OneTimeCode(p.tpl.Category)
		if _, out := s.optedOut[pairKey(p.conn.company.number, p.to)]; out && p.tpl.Category == "MARKETING" && s.opt.API != APICloud {
			return "", &refuseOptedOut // rule 5
		}
		if ref := p.tpl.Refusal(); ref != nil {
			return "", ref // rule 6
		}
	}
	if p.to == p.conn.phone {
		return "", &refuseSender // rule 7
	}
	if ref := p.m.EachMedia(func(m *request.Media) *refusal {
		if m.AssetID == "" {
			return nil
		}
		if _, ok := s.areas.Stored(m.AssetID, &p.conn.Connection, now); !ok {
			return &refuseAsset // rule 11
		}
		return nil
	}); ref != nil {
		return "", ref
	}
	if s.opt.API != APICloud && !p.conn.company.plan.left(now) {
		return "", &refuseAllowance // rule 8
	}
	if ref := s.platformRules(f, p, now); ref != nil {
		return "", ref // rule 9
	}
	if p.m.Template == nil { // rule 4
		switch {
		case s.fires(f, faultUnverified, p.keys()...):
			return "unverified_service_window", nil
		case !s.windowOpen(p.conn, p.to, now):
			if s.opt.Statuses.OutsideWindow == "refused" {
				return "", area.RefusePlatform(131047, "")
			}
			return "outside_service_window", nil
		}
	}
	return "", nil
}

// platformRules applies the rules of the platform behind the service. The caller holds s.mu.
func (s *Sandbox) platformRules(f *Faults, p *post, now time.Time) *refusal {
	if p.to == 0 {
		return area.RefusePlatform(131009, "to is not a phone number")
	}
	if ref := stateRefusal(p.conn); ref != nil {
		return ref
	}
	if ref := p.m.PlatformShape(); ref != nil {
		return ref
	}
	if id, mode, ok := p.m.Flow(); ok {
		if ref := s.areas.FlowRefusal(id, p.conn.Company, mode); ref != nil {
			return ref
		}
	}
	if ref := p.m.FileRefusal(func(id string) string { t, _ := s.areas.Stored(id, &p.conn.Connection, now); return t }); ref != nil {
		return ref
	}
	at := now.UnixNano()
	if s.opt.EnforceThroughput && p.conn.taken.Count(now) >= p.conn.limit {
		s.fired[faultThrottled].Add(1)
		return area.RefusePlatform(130429, "")
	}
	if p.m.Template != nil {
		if p.tpl == nil {
			return area.RefusePlatform(132001, p.m.Template.Name+" in "+p.m.Template.Language)
		}
		if ref := p.m.Template.Check(p.tpl); ref != nil {
			return ref
		}
	}
	for _, r := range f.Refusals {
		if covered(r.Connections, p.conn) && (r.Times == 0 || p.nth <= uint64(r.Times)) &&
			draw.Unit(s.hash(drawRefusal+purpose(r.Code), p.to)) < r.Share {
			s.coded[r.Code]++
			ref := area.RefusePlatform(r.Code, "")
			ref.Meta.Subcode = r.Subcode
			return ref
		}
	}
	if code := s.unreachable(p.to); code != 0 {
		return area.RefusePlatform(code, "")
	}
	if s.opt.PairRate > 0 {
		k := pairKey(p.conn.number, p.to)
		pr := s.pairs[k]
		ok := pr.paired(at, s.opt.PairRate, s.opt.PairBurst)
		s.pairs[k] = pr
		if !ok {
			s.fired[faultPaired].Add(1)
			return area.RefusePlatform(131056, "")
		}
	}
	return nil
}

// stateRefusal is the platform's refusal because of the state of the account or of the number, or
// nil. The caller holds Sandbox.mu.
func stateRefusal(c *connection) *refusal {
	if c.company.account == "locked" {
		return area.RefusePlatform(131031, "")
	}
	if code := numberCodes[c.Status]; code != 0 {
		return area.RefusePlatform(code, "")
	}
	return nil
}

// serviceWindow is how long a message of a customer keeps the window open (docs/service.md#limits).
const serviceWindow = 24 * time.Hour

// windowOpen reports whether free-form messages are delivered now. The caller holds s.mu.
func (s *Sandbox) windowOpen(c *connection, to uint64, now time.Time) bool {
	if s.openFrom[to] && now.Sub(s.began) < serviceWindow {
		return true
	}
	last := s.pairs[pairKey(c.number, to)].inbound
	return last != 0 && now.UnixNano()-last < int64(serviceWindow)
}
