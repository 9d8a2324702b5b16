//go:build mutants

package harness

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"campaignd/internal/sandbox"
)

// problem is a broken promise.
type problem struct{ kind, what string }

// The kinds of problems.
const (
	duplicate = "duplicate" // a recipient got the same run twice
	lost      = "lost"      // a row lacks its outcome, or a known part of it
	untrue    = "untrue"    // the report shows something that did not happen
)

// line is one row of `report --format csv`.
type line map[string]string

// lines reads a run's rows by the command report.
func (w *world) lines(run string) []line {
	w.t.Helper()
	code, out := w.ask("report", run, "--format", "csv")
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != 0 || err != nil || len(records) == 0 {
		w.t.Fatalf("report %s: exit code %d, %d records (%v), want 0 and a header", run, code, len(records), err)
	}
	var all []line
	for _, r := range records[1:] {
		l := line{}
		for i, name := range records[0] {
			l[name] = r[i]
		}
		all = append(all, l)
	}
	return all
}

// audited returns the problem that the command audit reports, if any.
func (w *world) audited(run string) []problem {
	w.t.Helper()
	if code, out := w.ask("audit", run); code != 0 {
		return []problem{{lost, fmt.Sprintf("audit %s: exit code %d\n%s", run, code, out)}}
	}
	return nil
}

// sent returns the messages of one template that the service accepted.
func (w *world) sent(template string) []sandbox.Message {
	var all []sandbox.Message
	for m := range w.service.Messages() {
		if m.Template == template {
			all = append(all, m)
		}
	}
	return all
}

// twice returns the recipients who got a template more than once. It does not read the ledger.
func twice(sent []sandbox.Message) (found []problem) {
	by := map[string][]string{}
	for _, m := range sent {
		by[m.To] = append(by[m.To], m.ID)
	}
	for _, to := range slices.Sorted(maps.Keys(by)) {
		if ids := by[to]; len(ids) > 1 {
			found = append(found, problem{duplicate, fmt.Sprintf("%s got %d messages: %v", to, len(ids), ids)})
		}
	}
	return found
}

// acknowledged returns the statuses that were answered 2xx and that the ledger does not show. A 2xx
// means that the event is durable (docs/protocol.md#webhook-intake). The messages must be read
// before the lines.
func acknowledged(lines []line, sent []sandbox.Message) (found []problem) {
	by := map[string]line{}
	for _, l := range lines {
		if id := l["message_id"]; id != "" {
			by[id] = l
		}
	}
	for _, m := range sent {
		l, known := by[m.ID]
		for _, s := range m.Statuses {
			if known && !s.AckedAt.IsZero() && l[s.Name+"_at"] == "" {
				found = append(found, problem{lost,
					fmt.Sprintf("row %s: %s of %s was answered 2xx at %v and is not in the ledger", l["row"], s.Name, m.ID, s.AckedAt)})
			}
		}
	}
	return found
}

// compare compares the report of an ended run with the list and with the messages of the service.
func compare(list []entry, lines []line, sent []sandbox.Message) []problem {
	found := twice(sent)
	add := func(kind string, l line, format string, args ...any) {
		row := fmt.Sprintf("row %s (%s, %s): ", l["row"], l["to"], l["status"])
		found = append(found, problem{kind, row + fmt.Sprintf(format, args...)})
	}
	if len(lines) != len(list) {
		return append(found, problem{lost, fmt.Sprintf("the report has %d rows, the list %d", len(lines), len(list))})
	}
	got := map[string]sandbox.Message{}
	for _, m := range sent {
		got[m.To] = m
	}
	for i, l := range lines {
		e := list[i]
		if l["row"] != fmt.Sprint(i+1) {
			add(lost, l, "got it in the place of row %d", i+1)
		}
		if e.skip != "" {
			if l["status"] != "skipped" || l["reason"] != e.skip {
				add(untrue, l, "reason %q, want skipped (%s)", l["reason"], e.skip)
			}
			continue
		}
		if l["to"] != e.to {
			add(untrue, l, "the list has %s", e.to)
		}
		m, accepted := got[e.to]
		delete(got, e.to)
		switch {
		case accepted:
			compareMessage(l, m, add)
		case l["message_id"] != "":
			add(untrue, l, "has message id %s, and the service accepted nothing for it", l["message_id"])
		case l["status"] != "refused" && l["status"] != "unknown":
			add(lost, l, "want refused or unknown, because the service accepted nothing for it")
		}
	}
	for _, to := range slices.Sorted(maps.Keys(got)) {
		found = append(found, problem{untrue, fmt.Sprintf("%s got %s and is in no row that is to be sent", to, got[to].ID)})
	}
	return found
}

// compareMessage compares the line of an accepted message with the message: its id and all statuses
// that the service sent.
func compareMessage(l line, m sandbox.Message, add func(kind string, l line, format string, args ...any)) {
	told := map[string]sandbox.Status{}
	for _, s := range m.Statuses {
		if !s.Missing {
			told[s.Name] = s
		}
	}
	if l["message_id"] == "" {
		// The answer was lost. Without a status the row must be unknown.
		if len(told) > 0 || l["status"] != "unknown" {
			add(lost, l, "the service accepted %s (answer: %s) and sent %d statuses of it", m.ID, m.Answer, len(told))
		}
		return
	}
	if l["message_id"] != m.ID || l["connection"] != m.Connection {
		add(untrue, l, "%s of %s, the service accepted %s of %s", l["message_id"], l["connection"], m.ID, m.Connection)
		return
	}
	shown := "accepted"
	for _, name := range []string{"sent", "failed", "delivered", "read"} { // a later one is shown instead of an earlier one
		s, happened := told[name]
		if happened {
			shown = name
		}
		want := ""
		if happened {
			want = s.At.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if have := l[name+"_at"]; have != want {
			add(lost, l, "%s at %q, the service has %q (answered 2xx: %v)", name, have, want, s.AckedAt.Format(time.TimeOnly))
		}
	}
	if l["status"] != shown {
		add(untrue, l, "shown as %s, want %s", l["status"], shown)
	}
}

// report formats problems: their number, and the first ten of each kind.
func report(found []problem) string {
	var b strings.Builder
	count := map[string]int{}
	for _, p := range found {
		if count[p.kind]++; count[p.kind] <= 10 {
			fmt.Fprintf(&b, "  %s: %s\n", p.kind, p.what)
		}
	}
	return fmt.Sprintf("%d problems %v\n%s", len(found), count, b.String())
}
