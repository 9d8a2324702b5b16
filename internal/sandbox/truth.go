package sandbox

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"strconv"
	"time"
)

// Truth is what happened, for tests to compare with what a client believes.
type Truth struct {
	Began       time.Time        `json:"began"`
	Messages    []Message        `json:"messages"` // accepted, in order of acceptance
	Connections []Number         `json:"connections"`
	Posts       map[Pair]int     `json:"-"`       // POST /api/v1/messages by connection and recipient, whatever their answer
	Fired       map[string]int64 `json:"fired"`   // faults, by YAML name; refusals as refusal_CODE
	Refused     map[string]int64 `json:"refused"` // answers by error
	OptOuts     []OptOut         `json:"optOuts"` // by STOP, in no order
	Uploads     []Upload         `json:"uploads"` // stored files, in order; those of Options.Assets were not uploaded here

	WithoutPlus    int64 `json:"withoutPlus"`    // POSTs whose `to` did not begin with + (platform.md 6.4)
	ForgedAccepted int64 `json:"forgedAccepted"` // events with a wrong signature that were answered 2xx
	Pending        int   `json:"pending"`        // webhooks not yet settled
}

// Pair is one connection and one recipient.
type Pair struct{ Connection, To string }

// Message is an accepted message.
type Message struct {
	ID         string    `json:"id"`
	Connection string    `json:"connection"`
	To         string    `json:"to"`   // E.164
	Nth        int       `json:"nth"`  // accepted messages of this connection and recipient, this one included
	Kind       string    `json:"kind"` // its content field
	Template   string    `json:"template,omitempty"`
	Language   string    `json:"language,omitempty"`
	Values     []string  `json:"values,omitempty"` // body variables, then button values, then otp; of a text message the text
	At         time.Time `json:"at"`
	Answer     string    `json:"answer"` // ok, or the fault that replaced the answer
	Warning    bool      `json:"warning,omitempty"`
	Statuses   []Status  `json:"statuses"` // that have happened, in order of sent, delivered, read, failed
}

// Upload is a file that a client stored (POST /api/v1/media).
type Upload struct {
	AssetID     string    `json:"assetId"`
	Connection  string    `json:"connection"`
	ContentType string    `json:"contentType"`
	Bytes       int64     `json:"bytes"`
	At          time.Time `json:"at"`
}

// Status is one status of a message and its webhook.
type Status struct {
	Name    string    `json:"name"`
	Code    int       `json:"code,omitempty"` // of failed
	At      time.Time `json:"at"`
	Posts   int       `json:"posts"`             // postings, over all endpoints
	AckedAt time.Time `json:"ackedAt,omitzero"`  // first 2xx; zero: none
	Missing bool      `json:"missing,omitempty"` // the fault: never posted, except by Replay
}

// Number is what one connection saw.
type Number struct {
	Connection  string `json:"connection"`
	Phone       string `json:"phone"`
	Limit       int    `json:"limit"`       // messages in a sliding second
	Posts       int64  `json:"posts"`       // POST arrivals
	WorstSecond int    `json:"worstSecond"` // most POST arrivals in any sliding second
	Accepted    int64  `json:"accepted"`
}

// Truth copies everything. With many messages prefer Messages and Stats.
func (s *Sandbox) Truth() Truth {
	t := s.Stats()
	t.Posts = map[Pair]int{}
	s.mu.Lock()
	for k, p := range s.pairs {
		if p.posts > 0 {
			t.Posts[Pair{s.connections[k>>50].ID, formatPhone(k & (1<<50 - 1))}] = int(p.posts)
		}
	}
	s.mu.Unlock()
	for m := range s.Messages() {
		t.Messages = append(t.Messages, m)
	}
	return t
}

// Stats is Truth without Messages and Posts: cheap at any size.
func (s *Sandbox) Stats() Truth {
	t := Truth{Began: s.began, Fired: map[string]int64{}, WithoutPlus: s.noPlus.Load(), ForgedAccepted: s.forgedOK.Load(), Pending: s.Pending()}
	for i := range s.fired {
		if n := s.fired[i].Load(); n > 0 {
			t.Fired[faultNames[i]] = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for code, n := range s.coded {
		t.Fired["refusal_"+strconv.Itoa(code)] = n
	}
	t.Refused = maps.Clone(s.refused)
	t.Uploads = append([]Upload{}, s.uploads...)
	for _, c := range s.connections {
		t.Connections = append(t.Connections, Number{
			Connection: c.ID, Phone: formatPhone(c.phone), Limit: c.limit,
			Posts: c.posts, WorstSecond: c.arrivals.worst, Accepted: c.accepted,
		})
	}
	for _, o := range s.optedOut {
		if o.extra > 0 {
			if at := s.extras[o.extra-1].acked; at != 0 {
				o.AckedAt = time.Unix(0, at).UTC()
			}
		}
		t.OptOuts = append(t.OptOuts, o)
	}
	return t
}

// Messages yields the accepted messages in order of acceptance, those accepted meanwhile
// included.
func (s *Sandbox) Messages() iter.Seq[Message] {
	return func(yield func(Message) bool) {
		for i := uint32(0); i < s.records.len(); i++ {
			if !yield(s.message(i)) {
				return
			}
		}
	}
}

// Message finds an accepted message by its id.
func (s *Sandbox) Message(id string) (Message, bool) {
	n, ok := messageIndex(s.boot, id)
	if !ok || n >= uint64(s.records.len()) {
		return Message{}, false
	}
	m := s.message(uint32(n))
	return m, m.ID == id
}

func (s *Sandbox) message(i uint32) (m Message) {
	now := time.Now().UnixNano()
	s.records.with(i, func(rec *record) {
		m = Message{
			ID: wamid(s.boot, rec.to, 0x11, uint64(i)), Connection: s.connections[rec.conn].ID, To: formatPhone(rec.to),
			Nth: int(rec.nth), Kind: rec.kind, Values: rec.values, At: time.Unix(0, rec.at).UTC(), Answer: "ok", Warning: rec.warning,
		}
		if rec.tpl != nil {
			m.Template, m.Language = rec.tpl.Name, rec.tpl.Language
		}
		if rec.lost != 0 {
			m.Answer = rec.lost.String()
		}
		for which := range statusSlots {
			k := rec.marks[which]
			if k.at == 0 || k.at > now && k.posts == 0 {
				continue
			}
			st := Status{Name: which.String(), Code: int(k.code), At: time.Unix(0, k.at).UTC(), Posts: int(k.posts), Missing: k.missing}
			if k.acked != 0 {
				st.AckedAt = time.Unix(0, k.acked).UTC()
			}
			m.Statuses = append(m.Statuses, st)
		}
	})
	return m
}

// WriteJSON writes Truth as one JSON document, message by message.
func (s *Sandbox) WriteJSON(w io.Writer) error {
	raw, err := json.Marshal(s.Stats())
	if err != nil {
		return err
	}
	head := []byte(`{"messages":[`)
	if _, err := w.Write(head); err != nil {
		return err
	}
	first := true
	for m := range s.Messages() {
		line, err := json.Marshal(m)
		if err != nil {
			return err
		}
		sep := ",\n"
		if first {
			sep, first = "\n", false
		}
		if _, err := io.WriteString(w, sep); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, "\n],\"stats\":"+string(raw)+"}\n")
	return err
}

// WriteCSV writes one line per accepted message. Times are RFC 3339; *_acked is the
// first 2xx of that status's webhook.
func (s *Sandbox) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"message_id", "connection", "to", "nth", "kind", "template", "language", "values", "at", "answer"}
	for which := range statusSlots {
		head = append(head, which.String()+"_at", which.String()+"_acked")
	}
	if err := out.Write(append(head, "code")); err != nil {
		return err
	}
	for m := range s.Messages() {
		values, err := json.Marshal(m.Values)
		if err != nil {
			return err
		}
		row := []string{m.ID, m.Connection, m.To, strconv.Itoa(m.Nth), m.Kind, m.Template, m.Language, string(values), m.At.Format(time.RFC3339Nano), m.Answer}
		code := ""
		for which := range statusSlots {
			at, acked := "", ""
			for _, st := range m.Statuses {
				if st.Name != which.String() {
					continue
				}
				at = st.At.Format(time.RFC3339Nano)
				if !st.AckedAt.IsZero() {
					acked = st.AckedAt.Format(time.RFC3339Nano)
				}
				if st.Code != 0 {
					code = strconv.Itoa(st.Code)
				}
			}
			row = append(row, at, acked)
		}
		if err := out.Write(append(row, code)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Replay says which events to post again (seed 000, Events: deliveries can be replayed).
type Replay struct {
	All   bool      `json:"all"`   // also those that were answered 2xx
	Since time.Time `json:"since"` // of the event; zero: from the beginning
	Until time.Time `json:"until"` // zero: now
}

// Replay posts past events again and returns how many, over all endpoints.
func (s *Sandbox) Replay(r Replay) int {
	now := time.Now()
	if r.Until.IsZero() {
		r.Until = now
	}
	fits := func(at, acked int64) bool {
		t := time.Unix(0, at)
		return at != 0 && !t.Before(r.Since) && !t.After(r.Until) && (r.All || acked == 0)
	}
	n := 0
	for i := range s.records.len() {
		var due []slot
		s.records.with(i, func(rec *record) {
			for which := range statusSlots {
				if m := rec.marks[which]; fits(m.at, m.acked) {
					due = append(due, which)
				}
			}
		})
		for _, which := range due {
			n += s.push(step{slot: which, post: now, flags: flagCopy}, i)
		}
	}
	s.mu.Lock()
	var extras []int
	for i, x := range s.extras {
		if fits(x.at.UnixNano(), x.acked) {
			extras = append(extras, i)
		}
	}
	s.mu.Unlock()
	for _, i := range extras {
		n += s.pushExtra(i, now)
	}
	return n
}
