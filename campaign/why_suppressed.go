package campaign

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// WhySuppression is an entry of the suppression list that skips a row.
type WhySuppression struct {
	Scope Scope `json:"scope"`
	// Company is the client whose messages alone the entry stops; "": those of all.
	Company string    `json:"company,omitempty"`
	Source  string    `json:"source"` // Suppression.Source
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero"`
}

// suppressedBy is the scope of the entries that skip a row, by its reason.
var suppressedBy = map[SkipReason]Scope{OptedOut: ScopeMarketing, Suppressed: ScopeAll, Unreachable: ScopeUnreachable}

// suppressed adds the entries of a number in a scope. The list is read up to the number.
func (r *WhyRow) suppressed(ctx context.Context, l WhyRowLedger, key int64, scope Scope, now time.Time) error {
	var said []string
	for s, err := range l.Suppressions(ctx) {
		if err != nil {
			return fmt.Errorf("read the suppressions: %w", err)
		}
		if s.Key > key {
			break
		}
		if s.Key != key || s.Scope != scope || !s.Until.IsZero() && !s.Until.After(now) {
			continue
		}
		one := WhySuppression{Scope: s.Scope, Company: s.Company, Source: s.Source, At: s.At, Until: s.Until}
		r.Suppressions, said = append(r.Suppressions, one), append(said, one.text())
	}
	if len(said) == 0 {
		said = []string{"its entry was removed from the suppression list since"}
	}
	r.Sentence += ": " + strings.Join(said, "; ")
	return nil
}

// text says whose messages an entry stops, its source and its times.
func (s WhySuppression) text() string {
	of := "all companies"
	if s.Company != "" {
		of = "company " + s.Company + " alone"
	}
	text := fmt.Sprintf("on the suppression list for %s (%s) since %s, source %s", of, s.Scope,
		s.At.UTC().Format("2006-01-02 15:04:05 UTC"), s.Source)
	if !s.Until.IsZero() {
		text += ", until " + s.Until.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return text
}
