package reporting

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"campaignd/campaign"
	"campaignd/internal/messaging"
	"campaignd/internal/plot"
	"campaignd/internal/sentence"
)

// minWords is the least width to which a column of sentences is wrapped. Narrower terminals wrap by
// themselves.
const minWords = 24

// Table writes the report for people: plain text without colours. Sentences are wrapped so that no
// line is wider than width runes; 0 does not wrap. Control characters are replaced, so that a list
// or an answer of the service cannot control the terminal.
func (r *Report) Table(w io.Writer, width int) error {
	b := bufio.NewWriter(w)
	page := page{b, width}
	page.head(r)
	page.holds(r)
	page.totals(r)
	page.reasons("skipped", r.Skipped, func(reason string) string { return campaign.SkipReason(reason).Sentence() })
	page.reasons("refused by the service", r.Refused, r.RefusalSentence)
	page.reasons("failed on the way", r.Failed, CodeSentence)
	page.funnel(r)
	page.responses(r)
	page.conversions(r)
	page.moved(r)
	page.cost(r)
	page.service(r)
	return b.Flush()
}

type page struct {
	w     *bufio.Writer
	width int
}

// entry is one line of a block: a name, a number, and words about it.
type entry struct{ name, number, words string }

func (p page) head(r *Report) {
	run := r.Run
	state := string(run.State)
	if run.Reason != "" {
		state += " (" + string(run.Reason) + ")"
	}
	fmt.Fprintf(p.w, "%s  %s\n", printable(run.ID), printable(state))
	facts := []entry{
		{"list", "", run.List},
		{"template", "", strings.TrimSpace(run.Template + " " + run.Language)},
		{"created", "", run.instant(run.CreatedAt)},
		{"started", "", run.instant(run.StartedAt)},
		{"ended", "", run.instant(run.EndedAt)},
		{"detail", "", run.Detail},
		{"deleted", "", run.Retired.Sentence(r.Rows)},
	}
	if took := run.EndedAt.Sub(run.StartedAt); !run.EndedAt.IsZero() && !run.StartedAt.IsZero() && took >= 0 {
		facts[4].words += ", after " + took.Round(time.Second).String()
	}
	p.block("", slices.DeleteFunc(facts, func(e entry) bool { return e.words == "" }))
}

// instant writes a time in UTC and, if the campaign has a zone of its own, as its clocks show it.
func (f RunFacts) instant(t time.Time) string {
	s := sentence.Instant(t)
	if zone, err := time.LoadLocation(f.Timezone); err == nil && f.Timezone != "" && s != "" {
		s += t.In(zone).Format(" (2006-01-02 15:04:05 ") + f.Timezone + ")"
	}
	return s
}

func (p page) holds(r *Report) {
	var lines []entry
	for _, h := range r.Holds {
		lines = append(lines, entry{h.Reason, "", h.Sentence})
	}
	if len(lines) > 0 {
		p.block("held", lines)
	}
	lines = slices.DeleteFunc([]entry{{"refused", "", r.RefusedEvents}, {"missing", "", r.NoEvents}},
		func(e entry) bool { return e.words == "" })
	if len(lines) > 0 {
		p.block("webhooks", lines)
	}
}

func (p page) totals(r *Report) {
	var lines []entry
	var parts []int64
	for _, s := range campaign.Statuses {
		parts = append(parts, r.Totals[s])
	}
	shares := plot.Percents(parts, r.Rows)
	for i, s := range campaign.Statuses {
		if parts[i] > 0 {
			lines = append(lines, entry{string(s), count(parts[i]), plain(shares[i])})
		}
	}
	words := ""
	if sum := r.Totals.sum(); sum != r.Rows {
		words = "the statuses add up to " + count(sum) + ": run `campaignd audit`"
	}
	p.block("rows", append(lines, entry{"all rows", count(r.Rows), words}))
}

// reasons writes a breakdown, the most frequent first.
func (p page) reasons(title string, counts map[string]int64, sentence func(string) string) {
	if len(counts) == 0 {
		return
	}
	var lines []entry
	for _, reason := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	}) {
		lines = append(lines, entry{reason, count(counts[reason]), sentence(reason)})
	}
	p.block(title, lines)
}

func (p page) funnel(r *Report) {
	f := r.Funnel
	lines := []entry{
		{"sendable", count(f.Sendable), share(f.Sendable, r.Rows, "all rows")},
		{"accepted", count(f.Accepted), share(f.Accepted, f.Sendable, "sendable")},
		{"sent", count(f.Sent), share(f.Sent, f.Accepted, "accepted")},
		{"delivered", count(f.Delivered), share(f.Delivered, f.Accepted, "accepted")},
		{"read", count(f.Read), share(f.Read, f.Delivered, "delivered")},
		{"failed", count(f.Failed), share(f.Failed, f.Accepted, "accepted")},
	}
	for _, e := range []struct {
		name  string
		n     int64
		words string
	}{
		{"adopted", f.Adopted, "accepted on the evidence of a webhook, since the answer was lost"},
		{"maybe duplicate", f.MaybeDuplicate, "sent again after a doubt, as the campaign's on_uncertain policy says"},
		{"ambiguous", f.Ambiguous, "webhooks that fit more than one doubt and proved none"},
	} {
		if e.n > 0 {
			lines = append(lines, entry{e.name, count(e.n), e.words})
		}
	}
	p.block("funnel (each row in every stage that it reached)", lines)
}

func (p page) moved(r *Report) {
	var lines []entry
	for _, m := range r.Moved {
		lines = append(lines, entry{cmp.Or(m.Connection, "(no connection yet)"), "", m.Sentence()})
	}
	if len(lines) > 0 {
		p.block("moved between connections", lines)
	}
}

// RefusalSentence is CodeSentence of a code of Refused, with the answer of one such row.
func (r *Report) RefusalSentence(code string) string {
	if said := r.Explanations[code]; said != "" {
		return CodeSentence(code) + ", for example: " + said
	}
	return CodeSentence(code)
}

// CodeSentence says what a code of Failed or Refused means.
func CodeSentence(code string) string {
	if code == campaign.NoCode {
		return "no code came with it"
	}
	return messaging.Sentence(code)
}

// block writes entries under a title: names left-aligned, numbers right-aligned, words wrapped.
func (p page) block(title string, entries []entry) {
	if title != "" {
		fmt.Fprintf(p.w, "\n%s\n", title)
	}
	name, number := 0, 0
	for i := range entries {
		entries[i].name, entries[i].words = printable(entries[i].name), printable(entries[i].words)
		name, number = max(name, utf8.RuneCountInString(entries[i].name)), max(number, len(entries[i].number))
	}
	left := 2 + name + 2
	if number > 0 {
		left += number + 2
	}
	for _, e := range entries {
		line := fmt.Sprintf("  %-*s  ", name, e.name)
		if number > 0 {
			line += fmt.Sprintf("%*s  ", number, e.number)
		}
		lines := []string{e.words}
		if p.width > 0 {
			lines = sentence.Wrap(e.words, max(p.width-left, minWords))
		}
		for i, words := range lines {
			if i > 0 {
				line = strings.Repeat(" ", left)
			}
			fmt.Fprintln(p.w, strings.TrimRight(line+words, " "))
		}
	}
}

// printable replaces characters that a terminal would obey or hide: control and format characters
// (also those that change the direction of writing) and broken UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r != utf8.RuneError && unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}

// count writes a number with thousands separators: 1,234,567.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// countOf is n things: 1 row, 2,000 rows.
func countOf(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return count(n) + " " + thing + "s"
}

// percent is n of all, to a tenth (plot.Percent).
func percent(n, all int64) string { return plain(plot.Percent(n, all)) }

// plain has plain spaces, for a terminal and for columns.
func plain(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }

func share(n, all int64, of string) string {
	if p := percent(n, all); p != "" {
		return p + " of " + of
	}
	return ""
}
