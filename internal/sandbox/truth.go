package sandbox

import (
	"campaignd/internal/sandbox/area"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"strconv"
	"time"
)

// Truth is the record of the sandbox. Tests compare a client's records with it.
type Truth struct {
	// Began is the time of New.
	Began time.Time `json:"began"`
	// Messages are the accepted messages, in the order of their acceptance.
	Messages    []Message `json:"messages"`
	Connections []Number  `json:"connections"`
	// Posts counts POST /api/v1/messages by connection and recipient, whatever their answer.
	Posts map[Pair]int `json:"-"`
	// Fired counts the faults by their YAML name, and the refusals of Faults.Refusals as refusal_CODE.
	Fired map[string]int64 `json:"fired"`
	// Refused counts the refusals by error.
	Refused map[string]int64 `json:"refused"`
	// OptOuts are the people who wrote STOP and the people of Options.OptedOut, in no order.
	OptOuts []OptOut `json:"optOuts"`
	// Uploads are the files that clients stored, in order, without the files of Options.Assets.
	Uploads []Upload `json:"uploads"`

	// WithoutPlus counts the POSTs whose `to` did not begin with + (docs/service.md#phone-numbers).
	WithoutPlus int64 `json:"withoutPlus"`
	// ForgedAccepted counts the events with a wrong signature that were answered 2xx.
	ForgedAccepted int64 `json:"forgedAccepted"`
	// Pending is Sandbox.Pending.
	Pending int `json:"pending"`
}

// Pair is one connection and one recipient.
type Pair struct{ Connection, To string }

// Message is an accepted message.
type Message struct {
	ID         string `json:"id"`
	Connection string `json:"connection"`
	// To is E.164.
	To string `json:"to"`
	// Nth counts the accepted messages of this connection to this recipient, from 1 for the first.
	Nth int `json:"nth"`
	// Kind is the name of the content field.
	Kind     string `json:"kind"`
	Template string `json:"template,omitempty"`
	Language string `json:"language,omitempty"`
	// Values are the values of the body, the buttons and the otp, in this order; or the text of a text
	// message.
	Values []string  `json:"values,omitempty"`
	At     time.Time `json:"at"`
	// Answer is ok, or the fault that replaced the answer.
	Answer  string `json:"answer"`
	Warning bool   `json:"warning,omitempty"`
	// Statuses are the statuses that have happened, in the order sent, delivered, read, failed.
	Statuses []Status `json:"statuses"`
}

// Upload is a file that a client stored with POST /api/v1/media.
type Upload = area.Uploaded

// Status is one status of a message and its webhook.
type Status struct {
	Name string `json:"name"`
	// Code is the platform code of failed.
	Code int       `json:"code,omitempty"`
	At   time.Time `json:"at"`
	// Posts is the number of postings to all endpoints.
	Posts int `json:"posts"`
	// AckedAt is the time of the first 2xx; zero if there is none.
	AckedAt time.Time `json:"ackedAt,omitzero"`
	// Missing means that Faults.Missing fired: only Replay posts the status.
	Missing bool `json:"missing,omitempty"`
}

// Number is the record of one connection.
type Number struct {
	Connection string `json:"connection"`
	Phone      string `json:"phone"`
	// Limit is the throughput in messages per second.
	Limit int `json:"limit"`
	// Posts is the number of POSTs.
	Posts int64 `json:"posts"`
	// WorstSecond is the largest number of POSTs in any sliding second.
	WorstSecond int   `json:"worstSecond"`
	Accepted    int64 `json:"accepted"`
}

// Truth returns a copy of the whole record. With many messages use Messages and Stats instead.
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

// Stats is Truth without Messages and Posts. Its cost does not grow with the number of messages.
func (s *Sandbox) Stats() Truth {
	t := Truth{
		Began: s.began, Fired: map[string]int64{},
		WithoutPlus: s.noPlus.Load(), ForgedAccepted: s.forgedOK.Load(), Pending: s.Pending(),
	}
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
	t.Uploads = append([]Upload{}, s.areas.Uploads...)
	for _, c := range s.connections {
		t.Connections = append(t.Connections, Number{
			Connection: c.ID, Phone: formatPhone(c.phone), Limit: c.limit,
			Posts: c.posts, WorstSecond: c.arrivals.Worst(), Accepted: c.accepted,
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

// Messages yields the accepted messages in the order of their acceptance. It includes those that
// are accepted during the iteration.
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

// WriteJSON writes Truth as one JSON document. It never has all messages in memory.
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

// WriteCSV writes one line for each accepted message. Times are RFC 3339. A column *_acked is the
// first 2xx to the webhook of that status.
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
		row := []string{m.ID, m.Connection, m.To, strconv.Itoa(m.Nth), m.Kind, m.Template, m.Language,
			string(values), m.At.Format(time.RFC3339Nano), m.Answer}
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
