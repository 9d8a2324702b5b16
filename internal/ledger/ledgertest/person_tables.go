package ledgertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
	"campaignd/internal/ledger"
)

// exportedElsewhere are the columns that an export has in the row of a run or in the suppressions.
// Of a table without a dot, all are.
var exportedElsewhere = []string{"delivery", "suppression", "price", "outcome.state", "outcome.rank", "outcome.attempt",
	"outcome.message_id", "outcome.sent_at", "outcome.delivered_at", "outcome.read_at", "outcome.failed_at", "outcome.connection"}

// notOfAPerson are the tables and columns that no export has, with the reason. A table that is
// added is either exported or named here.
var notOfAPerson = map[string]string{
	"key_page": "an index of what delivery has", "key_part": "as key_page",
	"outcome.key": "unused", "outcome.mh": "a hash of the message id", "orphan.mh": "a hash of the message id",
	"wish.mh": "a hash of the message id", "reply.mh": "a hash of the message id", "wish.id": "a number of the row", "reply.id": "as wish.id",
	"purchase.key": "the number", "attempt.key": "the number", "user_pair.key": "the number", "moved.key": "the number",
	"moved.target": "the number", "opt_in.key": "the number", "first_receipt.key": "the number", "inbound.key": "the number",
	"reply.key": "the number", "sender.key": "the number", "contact.key": "the number", "reach.key": "the number",
	"follow_up.key": "the number", "orphan.key": "the number",

	"ledger": "of the ledger", "sweep": "of the ledger", "goose_db_version": "of the ledger", "alive": "of the ledger",
	"run": "of a run", "run_count": "of a run", "run_event": "of a run", "segment": "of a run", "lane": "of a run", "lane_history": "of a run",
	"history": "of a run or a hold; it names no recipient", "asset": "of a run", "audit": "counts and row numbers of a run",
	"spent": "counts", "summary": "counts", "summary_state": "counts", "changed": "counts", "retired": "counts", "retired_total": "counts",
	"firing": "of a schedule", "job": "of a process", "wire_log": "of a process", "listening": "times of webhooks", "lost_time": "times",
	"webhook_signatures": "of webhooks", "response_state": "a time", "portfolio": "counts", "ramp": "of a connection", "plan": "one limit",
	"hold": "of what is held; it names no recipient", "dropped_file": "names of files", "drop_wait": "names of files",
	"notification": "of a run; it names no recipient", "operator_key": "of operators", "action": "of operators; it names no recipient",
	"browser_session": "of operators", "draft": "of operators; its list is a file", "listing": "templates and numbers of the service",
	"order_hint": "ids of orders that are to be read", "unread_order": "ids of orders", "polled": "a time",
}

// schema returns the columns of all tables as table.column.
func schema(t *testing.T, l Tables) []string {
	t.Helper()
	text, err := l.Stored(t.Context(), `SELECT group_concat(m.name || '.' || c.name) FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`)
	if err != nil { // PostgreSQL has no such table
		text = stored(t, l, `SELECT string_agg(table_name || '.' || column_name, ',') FROM information_schema.columns
			WHERE table_schema = current_schema()`)
	}
	return strings.Split(text, ",")
}

func eachTableIsExportedOrExcused(t *testing.T, l Tables) {
	exported := slices.Clone(exportedElsewhere)
	for _, table := range ledger.PersonTables {
		for _, c := range table.Columns {
			name, _, _ := strings.Cut(c.Expr, " ")
			exported = append(exported, table.Table+"."+name)
		}
	}
	seen := map[string]bool{}
	for _, column := range schema(t, l) {
		table, _, _ := strings.Cut(column, ".")
		seen[table], seen[column] = true, true
		is := slices.Contains(exported, column) || slices.Contains(exported, table)
		excused := notOfAPerson[column] != "" || notOfAPerson[table] != ""
		if is == excused {
			t.Errorf("%s: exported %v, excused %v; want one of both", column, is, excused)
		}
	}
	if len(seen) < 200 {
		t.Errorf("%d tables and columns; want at least 200", len(seen))
	}
	for _, name := range exported {
		if _, column, _ := strings.Cut(name, "."); !seen[name] && !strings.Contains(column, ".") { // one with a second dot is of a joined table
			t.Errorf("%s is exported; want a column of the schema", name)
		}
	}
}

// known writes a row with each fact about the person of seq into each table of an export. no is a
// run whose row seq was accepted. Texts end with the seq.
func known(t *testing.T, l Tables, no campaign.RunNo, seq int64) {
	t.Helper()
	of := strings.NewReplacer("{key}", fmt.Sprint(key(seq)), "{rid}", fmt.Sprint(ledger.RowID(no, seq)), "{seq}", fmt.Sprint(seq),
		"{run}", fmt.Sprint(no))
	for _, row := range []string{
		`UPDATE outcome SET code = 'code{seq}', fail_code = 'fail{seq}', detail = 'detail{seq}', warning = 'warning{seq}',
			request_id = 'request{seq}', trace_id = 'trace{seq}', tries = 3, flags = 1, result_at = 1001, intent_at = 1002, next_due = 1003,
			granted_by = 'owner{seq}' WHERE rid = {rid}`,
		`INSERT INTO response (rid, replied_at, opted_out_at) VALUES ({rid}, 2001, 2002)`,
		`INSERT INTO repeat (rid, other) VALUES ({rid}, {rid})`,
		`INSERT INTO purchase (id, key, created_at, updated_at, due, ended, was_paid, amount, currency, asked_at)
			VALUES ('order{seq}', {key}, 3001, 3002, 1, 1, 1, '10.{seq}', 'EUR{seq}', 3003)`,
		`INSERT INTO conversion (order_id, rid, accepted_at, held_out) VALUES ('order{seq}', {rid}, 3004, 1)`,
		`INSERT INTO payment_link (order_id, terms, url, made_at) VALUES ('order{seq}', 'terms{seq}', 'https://pay/{seq}', 3005)`,
		`INSERT INTO reply (key, mh, at, opt_out) SELECT 0, mh, 4001, 1 FROM outcome WHERE rid = {rid}`,
		`INSERT INTO reply (key, mh, at, opt_out) VALUES ({key}, 0, 4002, 1)`,
		`INSERT INTO user_pair (user_id, key, dest, at) VALUES ('US.{seq}', {key}, '+{key}', 5001)`,
		`INSERT INTO wish (user_id, answers, mh, event, scope, resume, source, at, until, received, proof) VALUES ('US.{seq}', 'answers{seq}',
			7, 'event{seq}', 'marketing', 1 = 1, 'source{seq}', 5002, 5003, 5004, '{"user":"US.{seq}"}')`,
		`INSERT INTO moved (key, dest, target, new, at) VALUES ({key}, '+{key}', 7, 'new{seq}', 6001)`,
		`INSERT INTO opt_in (key, scope, at) VALUES ({key}, 'optin{seq}', 6002)`,
		`INSERT INTO first_receipt (key, what, own, at) VALUES ({key}, 'what{seq}', 6003, 6004)`,
		`INSERT INTO inbound (key, connection, at, own) VALUES ({key}, 'in{seq}', 6005, 6006)`,
		`INSERT INTO sender (key, connection, at) VALUES ({key}, 'sender{seq}', 6007)`,
		`INSERT INTO contact (key, rid, at, until, connection, capped) VALUES ({key}, {rid}, 6008, 6009, 'contact{seq}', 1 = 1)`,
		`INSERT INTO reach (key, portfolio, rid, at) VALUES ({key}, 'portfolio{seq}', {rid}, 6010)`,
		`INSERT INTO follow_up (parent, key, rid) VALUES ({run}, {key}, {rid})`,
		`INSERT INTO attempt (rid, attempt, key, connection, intent_at, doubt_at) VALUES ({rid}, 9, {key}, 'attempt{seq}', 6011, 6012)`,
		`INSERT INTO orphan (mh, message_id, rank, at, received_at, key, connection, code, untimed, attempt, marked) VALUES (8,
			'wamid.orphan{seq}', 3, 6013, 6014, {key}, 'orphan{seq}', 'late{seq}', 1 = 1, 4, {rid})`,
	} {
		alter(t, l, of.Replace(row))
	}
}

// records returns the records of the person of seq as JSON texts.
func records(t *testing.T, l Tables, seq int64, rows []campaign.Line) (all []string) {
	t.Helper()
	found, err := l.PersonRecords(t.Context(), key(seq), rows)
	if err != nil {
		t.Fatalf("records of seq %d: %v; want no error", seq, err)
	}
	for _, r := range found {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// An export has each fact of its person, and none of another. Nothing that is found by the number
// stays behind an erasure, and the other person loses nothing.
func anExportHasAllThatAnErasureRemoves(t *testing.T, l Tables) {
	r := Load(t, l, 3)
	s := ClaimAll(t, l, r.No)[0]
	mustIntend(t, l, campaign.Intent{Lease: s, Connection: "conn_1", To: 3})
	mustRecord(t, l, []campaign.Result{acceptance(s, 0), acceptance(s, 1), acceptance(s, 2)})
	known(t, l, r.No, 0)
	known(t, l, r.No, 1)
	line := func(seq int64) []campaign.Line {
		lines, _, err := l.SelectLines(t.Context(), r.No, campaign.LineFilter{}, seq, 1)
		if err != nil || len(lines) != 1 {
			t.Fatalf("row %d: got %d and %v; want it", seq, len(lines), err)
		}
		return lines
	}
	all := records(t, l, 0, line(0))
	for i := range ledger.PersonTables {
		table := &ledger.PersonTables[i]
		complete := func(text string) bool {
			var got campaign.PersonRecord
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if got.Kind != table.Kind {
				return false
			}
			for _, c := range table.Columns {
				if c.As == ledger.AsRow && (got.Run != r.No || got.Seq != 0) || c.As != ledger.AsRow && got.Facts[c.Fact] == nil {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(all, complete) {
			t.Errorf("%s of %s: got %s; want one with each fact", table.Kind, table.Table, all)
		}
	}
	if text := strings.Join(all, "\n"); len(all) != len(ledger.PersonTables) || strings.Contains(text, fmt.Sprint(key(1))) ||
		strings.Contains(text, `orphan1`) || !strings.Contains(text, `"sent_by":1`) || !strings.Contains(text, `"status":"delivered"`) ||
		!strings.Contains(text, time.UnixMilli(6013).UTC().Format(time.RFC3339Nano)) || !strings.Contains(text, `"user":"US.0"`) {
		t.Errorf("records: got %s; want %d of this person alone", text, len(ledger.PersonTables))
	}
	if all := records(t, l, 2, line(2)); len(all) != 1 || !strings.Contains(all[0], `"Kind":"outcome"`) {
		t.Errorf("records of another person: got %s; want those of the row", all)
	}
	other := records(t, l, 1, line(1))
	erase(t, l, 0, campaign.Erased{Rows: 1})
	nowhere(t, l, 0)
	if left := records(t, l, 0, nil); len(left) != 0 {
		t.Errorf("after an erasure: got %s; want nothing", left)
	}
	if got := stored(t, l, `SELECT CAST(count(*) AS text) FROM payment_link`); got != "1" {
		t.Errorf("%s payment links after an erasure; want the other person's", got)
	}
	if now := records(t, l, 1, line(1)); !slices.Equal(now, other) {
		t.Errorf("the other person's records after an erasure: got %s; want %s", now, other)
	}
}
