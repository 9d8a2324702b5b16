package why

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/sentence"
)

// Suppression is an entry of the suppression list that skips a row.
type Suppression struct {
	Scope campaign.Scope `json:"scope"`
	// Company is the only company whose messages the entry stops; "": the messages of all.
	Company string         `json:"company,omitempty"`
	Source  string         `json:"source"` // Suppression.Source
	At      time.Time      `json:"at"`
	Until   time.Time      `json:"until,omitzero"`
	Proof   campaign.Proof `json:"proof,omitzero"`
}

// ShownSuppression is a suppression as people and scripts see it.
type ShownSuppression struct {
	To string `json:"to"`
	Suppression
	// InForce is false when it has ended.
	InForce  bool   `json:"in_force"`
	Sentence string `json:"sentence"`
}

// ShowSuppressions returns the entries of a number, with the proof of each: when, how, by which
// message. The number is in international form with +. The errors are errors of ParseSuppressions
// and of the ledger.
func ShowSuppressions(ctx context.Context, l campaign.SuppressionLedger, number string, now time.Time) ([]ShownSuppression, error) {
	typed, err := launch.ParseSuppressions([]string{number}, campaign.ScopeAll, now)
	if err != nil {
		return nil, err
	}
	all, err := l.SuppressionsOf(ctx, typed[0].Key)
	if err != nil {
		return nil, fmt.Errorf("read the suppressions: %w", err)
	}
	shown := make([]ShownSuppression, 0, len(all))
	for _, s := range all {
		one := ShownSuppression{To: cmp.Or(s.To, typed[0].To), Suppression: entryOf(s), InForce: s.InForce(now)}
		one.Sentence = one.To + " is " + one.text()
		if !one.InForce {
			one.Sentence = one.To + " was " + one.text() + "; it has ended"
		}
		if p := proofText(s.Proof); p != "" {
			one.Sentence += ": " + p
		}
		shown = append(shown, one)
	}
	return shown, nil
}

// entryOf returns what is shown of a suppression.
func entryOf(s campaign.Suppression) Suppression {
	return Suppression{Scope: s.Scope, Company: s.Company, Source: s.Source, At: s.At, Until: s.Until, Proof: s.Proof}
}

// proofText says how and by which message a suppression came about; "" if nothing but its source is
// known.
func proofText(p campaign.Proof) string {
	var said []string
	of := func(format string, value string) string {
		if value == "" {
			return ""
		}
		return fmt.Sprintf(format, value)
	}
	over := of(" over connection %s", p.Connection)
	switch {
	case p.File != "":
		said = append(said, fmt.Sprintf("line %d of the file %s", p.Line, p.File))
	case p.Run != 0:
		said = append(said, fmt.Sprintf("the service refused the message of run %d, row %d", p.Run, p.Row)+of(" (request %s)", p.Request))
	case p.Text != "":
		said = append(said, fmt.Sprintf("the recipient sent %q", p.Text)+of(" in message %s", p.Message)+over+
			of(", in answer to message %s", p.Answers))
	case p.Message != "":
		said = append(said, "message "+p.Message+over+" failed")
	case p.Connection != "":
		said = append(said, "the recipient said it of the company of connection "+p.Connection)
	}
	if len(said) > 0 && !p.At.IsZero() {
		said[0] += " at " + sentence.Instant(p.At)
	}
	if p.User != "" {
		said = append(said, "the event named the user id "+p.User+" and no number")
	}
	if p.MovedFrom != "" {
		said = append(said, "the recipient had the number "+p.MovedFrom+" until "+sentence.Instant(p.MovedAt))
	}
	return strings.Join(said, "; ")
}

// suppressedBy is the scope of the entries that skip a row, by its reason.
var suppressedBy = map[campaign.SkipReason]campaign.Scope{campaign.OptedOut: campaign.ScopeMarketing,
	campaign.Suppressed: campaign.ScopeAll, campaign.Unreachable: campaign.ScopeUnreachable}

// suppressed adds the entries of a number in a scope.
func (r *Row) suppressed(ctx context.Context, l RowLedger, key int64, scope campaign.Scope, now time.Time) error {
	var said []string
	all, err := l.SuppressionsOf(ctx, key)
	if err != nil {
		return fmt.Errorf("read the suppressions: %w", err)
	}
	for _, s := range all {
		if s.Scope != scope || !s.InForce(now) {
			continue
		}
		one := entryOf(s)
		r.Suppressions, said = append(r.Suppressions, one), append(said, one.text())
	}
	if len(said) == 0 {
		said = []string{"its entry was removed from the suppression list since"}
	}
	r.Sentence += ": " + strings.Join(said, "; ")
	return nil
}

// toBeSkipped adds the entries that will skip a queued row when its turn comes. Over an unknown
// connection the entries of one company count for nothing.
func (r *Row) toBeSkipped(ctx context.Context, l RowLedger, key int64, marketing bool, h Holds, now time.Time) error {
	all, err := l.SuppressionsOf(ctx, key)
	if err != nil {
		return fmt.Errorf("read the suppressions: %w", err)
	}
	known := h.Origin != nil && r.Connection != ""
	var reason campaign.SkipReason
	var said []string
	for _, s := range all {
		var why campaign.SkipReason
		switch {
		case !s.InForce(now):
		case s.Company == "":
			why = campaign.SkipFor(s.ScopeText(), marketing)
		case known:
			why = campaign.SkipFor(s.ScopeText(), marketing, h.Origin(r.Connection).Company)
		}
		if why != "" {
			one := entryOf(s)
			r.Suppressions, said, reason = append(r.Suppressions, one), append(said, one.text()), campaign.Stronger(reason, why)
		}
	}
	if reason != "" {
		r.Sentence += fmt.Sprintf("; when its turn comes it will be skipped (%s): %s", reason, strings.Join(said, "; "))
	}
	return nil
}

// text says whose messages an entry stops, its source and its times.
func (s Suppression) text() string {
	of := "all companies"
	if s.Company != "" {
		of = "company " + s.Company + " alone"
	}
	text := fmt.Sprintf("on the suppression list for %s (%s) since %s, source %s", of, s.Scope,
		sentence.Instant(s.At), s.Source)
	if !s.Until.IsZero() {
		text += ", until " + sentence.Instant(s.Until)
	}
	return text
}
