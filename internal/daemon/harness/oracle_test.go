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

// problem is a promise that was broken.
type problem struct{ kind, what string }

// The kinds of problems.
const (
	duplicate = "duplicate" // somebody got the same run twice
	lost      = "lost"      // a row without an outcome, or with one that says less than is known
	untrue    = "untrue"    // the report says what did not happen
)

// line is one row of `report --format csv`.
type line map[string]string

// lines reads a run's rows as a user does.
func (w *world) lines(run string) []line {
	w.t.Helper()
	code, out := w.ask("report", run, "--format", "csv")
	records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != 0 || err != nil || len(records) == 0 {
		w.t.Fatalf("report %s: exit code %d, %d records, %v", run, code, len(records), err)
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

// audited is what `audit` complains of.
func (w *world) audited(run string) []problem {
	w.t.Helper()
	if code, out := w.ask("audit", run); code != 0 {
		return []problem{{lost, fmt.Sprintf("audit %s: exit code %d\n%s", run, code, out)}}
	}
	return nil
}

// sent is what the service accepted of one template.
func (w *world) sent(template string) []sandbox.Message {
	var all []sandbox.Message
	for m := range w.service.Messages() {
		if m.Template == template {
			all = append(all, m)
		}
	}
	return all
}

// twice finds who got a template more than once. It needs no ledger.
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

// acknowledged finds statuses that were answered 2xx and that the ledger does not show: a 2xx
// means that the event is durable (design section 5). It may be asked between two lives, with the
// messages as they were before the lines were read.
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
				found = append(found, problem{lost, fmt.Sprintf("row %s: %s of %s was answered 2xx at %v and is not in the ledger", l["row"], s.Name, m.ID, s.AckedAt)})
			}
		}
	}
	return found
}

// compare holds the report of a run that ended against the list and what the service did.
func compare(list []entry, lines []line, sent []sandbox.Message) []problem {
	found := twice(sent)
	say := func(kind string, l line, format string, args ...any) {
		found = append(found, problem{kind, fmt.Sprintf("row %s (%s, %s): ", l["row"], l["to"], l["status"]) + fmt.Sprintf(format, args...)})
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
			say(lost, l, "stands where row %d should", i+1)
		}
		if e.skip != "" {
			if l["status"] != "skipped" || l["reason"] != e.skip {
				say(untrue, l, "reason %q, want skipped (%s)", l["reason"], e.skip)
			}
			continue
		}
		if l["to"] != e.to {
			say(untrue, l, "the list has %s", e.to)
		}
		m, accepted := got[e.to]
		delete(got, e.to)
		switch {
		case accepted:
			compareMessage(l, m, say)
		case l["message_id"] != "":
			say(untrue, l, "has message id %s, and the service accepted nothing for it", l["message_id"])
		case l["status"] != "refused" && l["status"] != "unknown":
			say(lost, l, "want refused or unknown: the service accepted nothing for it")
		}
	}
	for _, to := range slices.Sorted(maps.Keys(got)) {
		found = append(found, problem{untrue, fmt.Sprintf("%s got %s and is in no row that was to be sent", to, got[to].ID)})
	}
	return found
}

// compareMessage holds the line of an accepted message against the message: its id and all
// statuses that the service told.
func compareMessage(l line, m sandbox.Message, say func(kind string, l line, format string, args ...any)) {
	told := map[string]sandbox.Status{}
	for _, s := range m.Statuses {
		if !s.Missing {
			told[s.Name] = s
		}
	}
	if l["message_id"] == "" {
		// Its answer was lost with its process or on the way. Without any status nobody can know of it.
		if len(told) > 0 || l["status"] != "unknown" {
			say(lost, l, "the service accepted %s (answer: %s) and told %d statuses of it", m.ID, m.Answer, len(told))
		}
		return
	}
	if l["message_id"] != m.ID || l["connection"] != m.Connection {
		say(untrue, l, "%s of %s, the service accepted %s of %s", l["message_id"], l["connection"], m.ID, m.Connection)
		return
	}
	shown := "accepted"
	for _, name := range []string{"sent", "failed", "delivered", "read"} { // each before what it yields to
		s, happened := told[name]
		if happened {
			shown = name
		}
		want := ""
		if happened {
			want = s.At.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		if have := l[name+"_at"]; have != want {
			say(lost, l, "%s at %q, the service says %q (answered 2xx: %v)", name, have, want, s.AckedAt.Format(time.TimeOnly))
		}
	}
	if l["status"] != shown {
		say(untrue, l, "shown as %s, want %s", l["status"], shown)
	}
}

// report prints problems, the first of each kind in full.
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
