package ledger

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"campaignd/campaign"
)

// PersonTable says what of a table is about a person, for an export. ledgertest checks that each
// column of the schema is in PersonTables, in the row or the suppression that the export has too,
// or excused by name.
type PersonTable struct {
	Kind    string // campaign.PersonRecord.Kind
	Table   string
	Columns []PersonColumn
	From    string // what follows FROM; $1 and $2 are the keys of the number, or $1 the row id of a delivery
	ByRow   bool   // From needs a row id
}

// PersonColumn is one column of an export.
type PersonColumn struct {
	Fact string // its name in the export
	Expr string // a column of the table, or an expression that begins with one
	As   PersonFact
}

// PersonFact is how a column is read.
type PersonFact int

// The kinds of facts.
const (
	AsText   PersonFact = iota
	AsNumber            // 0 is left out
	AsTime              // Unix milliseconds; 0 is left out
	AsFlag              // false is left out
	AsJSON
	AsStatus // the Rank of a status
	AsRun    // a run's number
	AsRow    // the row id of the delivery that the record is about
)

// PersonTables are the tables with facts about a person, beside the rows of runs and the
// suppression list.
var PersonTables = []PersonTable{
	{"outcome", "outcome", []PersonColumn{{"", "rid", AsRow}, {"code", "code", AsText}, {"failure", "fail_code", AsText},
		{"detail", "detail", AsText}, {"warning", "warning", AsText}, {"request_id", "request_id", AsText},
		{"trace_id", "trace_id", AsText}, {"tries", "tries", AsNumber}, {"flags", "flags", AsNumber},
		{"decided_at", "result_at", AsTime}, {"intent_at", "intent_at", AsTime}, {"next_at", "next_due", AsTime},
		{"owner", "granted_by", AsText}}, "outcome WHERE rid = $1", true},
	{"response", "response", []PersonColumn{{"", "rid", AsRow}, {"replied_at", "replied_at", AsTime},
		{"opted_out_at", "opted_out_at", AsTime}}, "response WHERE rid = $1", true},
	{"same_template", "repeat", []PersonColumn{{"", "rid", AsRow}, {"sent_by", "other >> 32", AsRun}},
		"repeat WHERE rid = $1", true},
	{"counted_order", "conversion", []PersonColumn{{"", "rid", AsRow}, {"order", "order_id", AsText},
		{"accepted_at", "accepted_at", AsTime}, {"held_out", "held_out", AsFlag}, {"ordered_at", "p.created_at", AsTime},
		{"amount", "p.amount", AsText}, {"currency", "p.currency", AsText}, {"was_paid", "p.was_paid", AsFlag}, {"due", "p.due", AsFlag},
		{"ended", "p.ended", AsFlag}}, "conversion c LEFT JOIN purchase p ON p.id = c.order_id WHERE c.rid = $1", true},
	{"reply", "reply", []PersonColumn{{"at", "at", AsTime}, {"opt_out", "opt_out", AsFlag}},
		"reply WHERE key = 0 AND mh IN (SELECT o.mh FROM outcome o WHERE o.rid = $1 AND o.mh <> 0)", true},

	{"order", "purchase", []PersonColumn{{"order", "id", AsText}, {"ordered_at", "created_at", AsTime},
		{"changed_at", "updated_at", AsTime}, {"amount", "amount", AsText}, {"currency", "currency", AsText},
		{"was_paid", "was_paid", AsFlag}, {"due", "due", AsFlag}, {"ended", "ended", AsFlag}, {"asked_at", "asked_at", AsTime}},
		"purchase WHERE key IN ($1, $2)", false},
	{"payment_link", "payment_link", []PersonColumn{{"order", "order_id", AsText}, {"url", "url", AsText}, {"terms", "terms", AsText},
		{"made_at", "made_at", AsTime}},
		"payment_link WHERE order_id IN (SELECT id FROM purchase WHERE key IN ($1, $2))", false},
	{"user_id", "user_pair", []PersonColumn{{"user_id", "user_id", AsText}, {"to", "dest", AsText}, {"at", "at", AsTime}},
		"user_pair WHERE key IN ($1, $2)", false},
	{"waiting_opt_out", "wish", []PersonColumn{{"user_id", "user_id", AsText}, {"answers", "answers", AsText}, {"message_id", "event", AsText},
		{"scope", "scope", AsText}, {"resume", "resume", AsFlag}, {"source", "source", AsText}, {"at", "at", AsTime},
		{"until", "until", AsTime}, {"received_at", "received", AsTime}, {"proof", "proof", AsJSON}},
		"wish WHERE user_id IN (SELECT user_id FROM user_pair WHERE key IN ($1, $2))", false},
	{"change_of_number", "moved", []PersonColumn{{"from", "dest", AsText}, {"to", "new", AsText}, {"at", "at", AsTime}},
		"moved WHERE key IN ($1, $2) OR target IN ($1, $2)", false},
	{"opt_in", "opt_in", []PersonColumn{{"scope", "scope", AsText}, {"at", "at", AsTime}}, "opt_in WHERE key IN ($1, $2)", false},
	{"opt_in_received", "first_receipt", []PersonColumn{{"of", "what", AsText}, {"own_time", "own", AsTime}, {"at", "at", AsTime}},
		"first_receipt WHERE key IN ($1, $2)", false},
	{"last_message_from", "inbound", []PersonColumn{{"connection", "connection", AsText}, {"at", "at", AsTime}, {"own_time", "own", AsTime}},
		"inbound WHERE key IN ($1, $2)", false},
	{"reply", "reply", []PersonColumn{{"at", "at", AsTime}, {"opt_out", "opt_out", AsFlag}}, "reply WHERE key IN ($1, $2)", false},
	{"reached_by", "sender", []PersonColumn{{"connection", "connection", AsText}, {"at", "at", AsTime}},
		"sender WHERE key IN ($1, $2)", false},
	{"counted_message", "contact", []PersonColumn{{"", "rid", AsRow}, {"connection", "connection", AsText}, {"at", "at", AsTime},
		{"until", "until", AsTime}, {"capped", "capped", AsFlag}}, "contact WHERE key IN ($1, $2)", false},
	{"tier_place", "reach", []PersonColumn{{"", "rid", AsRow}, {"portfolio", "portfolio", AsText}, {"at", "at", AsTime}},
		"reach WHERE key IN ($1, $2)", false},
	{"follow_up", "follow_up", []PersonColumn{{"", "rid", AsRow}, {"of", "parent", AsRun}}, "follow_up WHERE key IN ($1, $2)", false},
	{"open_attempt", "attempt", []PersonColumn{{"", "rid", AsRow}, {"attempt", "attempt", AsNumber}, {"connection", "connection", AsText},
		{"intent_at", "intent_at", AsTime}, {"doubt_at", "doubt_at", AsTime}}, "attempt WHERE key IN ($1, $2)", false},
	{"status_without_row", "orphan", []PersonColumn{{"message_id", "message_id", AsText}, {"status", "rank", AsStatus}, {"at", "at", AsTime},
		{"received_at", "received_at", AsTime}, {"connection", "connection", AsText}, {"code", "code", AsText},
		{"untimed", "untimed", AsFlag}, {"attempt", "attempt", AsNumber}, {"", "marked", AsRow}},
		"orphan WHERE key IN ($1, $2) AND key <> 0", false},
}

// Query is the statement that reads the records of a person, each column as a text.
func (t *PersonTable) Query() string {
	columns := make([]string, 0, len(t.Columns))
	for _, c := range t.Columns {
		columns = append(columns, "coalesce(CAST("+c.Expr+" AS text), '')")
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + t.From + " ORDER BY 1, 2"
}

// Scan reads a row of Query.
func (t *PersonTable) Scan(scan func(...any) error) (r campaign.PersonRecord, err error) {
	texts := make([]string, len(t.Columns))
	into := make([]any, len(t.Columns))
	for i := range texts {
		into[i] = &texts[i]
	}
	if err := scan(into...); err != nil {
		return r, err
	}
	r.Kind, r.Facts = t.Kind, map[string]any{}
	for i, c := range t.Columns {
		if err := c.read(&r, texts[i]); err != nil {
			return r, fmt.Errorf("%s.%s: %w", t.Table, c.Expr, err)
		}
	}
	return r, nil
}

// read adds a column of a record, unless it is empty.
func (c *PersonColumn) read(r *campaign.PersonRecord, text string) error {
	if text == "" {
		return nil
	}
	switch c.As {
	case AsText:
		r.Facts[c.Fact] = text
		return nil
	case AsJSON:
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("%q is no JSON", text)
		}
		r.Facts[c.Fact] = json.RawMessage(text)
		return nil
	case AsFlag:
		if text == "1" || text == "true" {
			r.Facts[c.Fact] = true
		}
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n == 0 {
		return err
	}
	switch c.As {
	case AsTime:
		r.Facts[c.Fact] = TimeOf(n)
	case AsStatus:
		r.Facts[c.Fact] = Rank(n).status()
	case AsRun:
		r.Facts[c.Fact] = campaign.RunNo(n)
	case AsRow:
		r.Run, r.Seq = RunOf(n), seqOf(n)
	default:
		r.Facts[c.Fact] = n
	}
	return nil
}
