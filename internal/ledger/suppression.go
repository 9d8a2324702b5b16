package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/recipients"
)

// suppressionStep is how many suppressions one transaction takes.
const suppressionStep = 2000

// InSteps calls write for each suppressionStep of a list and adds up how many rows it changed. Each
// step is one transaction: after an error those before it are durable, and the call may be
// repeated.
func InSteps(list []campaign.Suppression, write func(step []campaign.Suppression) (int64, error)) (changed int, err error) {
	for _, s := range list {
		switch s.Scope {
		case campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable:
		default:
			return 0, fmt.Errorf("suppression scope %q: want marketing, all or unreachable", s.Scope)
		}
	}
	for step := range slices.Chunk(list, suppressionStep) {
		n, err := write(step)
		if err != nil {
			return changed, err
		}
		changed += int(n)
	}
	return changed, nil
}

// SuppressionOf returns the suppression that a refusal adds. A person who is blocked at the service
// is suppressed for the company of the connection.
func (o Options) SuppressionOf(r *campaign.Result) campaign.Suppression {
	if r.Suppress.Scope == campaign.ScopeAll && o.Origin != nil {
		s := *r.Suppress
		s.Company = o.Origin(r.Connection).Company
		return s
	}
	if o.PerCompany && o.Origin != nil {
		return r.Suppress.OfCompany(o.Origin(r.Connection).Company)
	}
	return *r.Suppress
}

// Repeated returns the suppression was when s, of the same number and scope, is written after it.
// It keeps its first source, number and proof. It gets the latest time, so that an older opt-in
// cannot lift it, and the later of two ends. The source of a block at the service does not stay,
// because the end of the block would lift what another source wants. PostgreSQL, which writes many
// at once, has the rule in its SQL; a test of ledgertest compares the two.
func Repeated(was, s campaign.Suppression) campaign.Suppression {
	if campaign.IsBlock(was.Source) {
		was.Source = s.Source
	}
	if s.At.After(was.At) {
		was.At = s.At
	}
	if s.Until.IsZero() {
		was.Until = time.Time{}
	} else if !was.InForce(s.Until) {
		was.Until = s.Until
	}
	was.To, was.Proof = cmp.Or(was.To, s.To), cmp.Or(was.Proof, s.Proof)
	return was
}

// Stops are the reasons why recipients must not be sent to, the strongest of each, by row id or by
// key in either spelling.
type Stops map[int64]campaign.SkipReason

// Add adds a suppression with this scope, if it stops the run (campaign.SkipFor).
func (s *Stops) Add(id int64, scope string, marketing bool, companies ...string) {
	if why := campaign.SkipFor(scope, marketing, companies...); why != "" {
		s.AddReason(id, why)
	}
}

// AddReason adds a reason.
func (s *Stops) AddReason(id int64, why campaign.SkipReason) {
	if *s == nil {
		*s = Stops{}
	}
	(*s)[id] = campaign.Stronger((*s)[id], why)
}

// AddKey adds a suppression that is stored under a key to both spellings of its recipient.
func (s *Stops) AddKey(key int64, scope string, marketing bool, companies ...string) {
	for _, key := range recipients.Spelled([]int64{key}) {
		s.Add(key, scope, marketing, companies...)
	}
}

// OptIn returns the suppression that an opt-in lifts, unless that is newer. remember says that an
// opt-out from before the opt-in must not come back; an opt-in without a time is older than all.
func OptIn(s campaign.Suppression) (_ campaign.Suppression, remember bool) {
	s.Scope = campaign.ScopeMarketing
	return s, s.Key != 0 && !s.At.IsZero()
}

// IsOptOut is the condition, in the SQL of both databases, that a recipient asked for a suppression
// of marketing. Its first part is that of the index suppression_opt_out. The rows of an import may
// have any source, and their proof names the file.
const IsOptOut = `source NOT IN ('import', 'operator') AND substr(source, 1, 7) <> 'import:'
	AND (scope = 'marketing' OR substr(scope, 1, 10) = 'marketing@') AND proof NOT LIKE '%"file":%'`

// RememberFrom and RememberWhere begin and end the statement, in the SQL of both databases, that
// writes to opt_in which opt-outs from marketing an operator removes, as if their people had
// resumed just after them, and at the latest now. They do not come back when they are delivered
// again, and later ones count.
const (
	RememberFrom = `INSERT INTO opt_in (key, scope, at)
		SELECT key, scope, CASE WHEN at < ledger_now() THEN at + 1 ELSE ledger_now() END`
	RememberWhere = ` AND (scope = 'marketing' OR substr(scope, 1, 10) = 'marketing@')
		ON CONFLICT (key, scope) DO UPDATE SET at = excluded.at WHERE excluded.at > opt_in.at`
)

// IsFailedUnreachable is the condition, in the SQL of both databases, that failed messages alone
// made a suppression of an unreachable number. A message that failed may have been delivered to
// another device of the recipient: then the number is reachable, and what failed messages said of
// it until then goes (docs/service.md#statuses).
const IsFailedUnreachable = `scope = 'unreachable' AND substr(source, 1, 7) = 'failed:'`

// MayBeDisproved reports whether a delivered status of the message that made the suppression shows
// that the number is reachable.
func MayBeDisproved(s campaign.Suppression) bool {
	return s.Scope == campaign.ScopeUnreachable && s.Proof.Message != ""
}

// Disprovable divides suppressions into those that MayBeDisproved and the others.
func Disprovable(all []campaign.Suppression) (others, disprovable []campaign.Suppression) {
	if !slices.ContainsFunc(all, MayBeDisproved) {
		return all, nil
	}
	for _, s := range all {
		if MayBeDisproved(s) {
			disprovable = append(disprovable, s)
		} else {
			others = append(others, s)
		}
	}
	return others, disprovable
}

// SuppressionColumns are the columns that ScanSuppression reads.
const SuppressionColumns = `s.key, s.scope, s.until, s.at, s.dest, s.source, s.proof`

// ProofText is a proof as the ledger stores it: JSON, or "" for none.
func ProofText(p campaign.Proof) string {
	if p == (campaign.Proof{}) {
		return ""
	}
	text, _ := json.Marshal(p) // texts, numbers and times always marshal
	return string(text)
}

// maxMoves limits how often an opt-out follows a recipient from number to number at once.
const maxMoves = 8

// Carry gives suppressions that were written to the numbers that their recipients have now. find
// returns the suppressions for the new numbers of those with these keys; write writes them.
func Carry(
	list []campaign.Suppression, find func(keys []int64) ([]campaign.Suppression, error), write func([]campaign.Suppression) error,
) error {
	for range maxMoves {
		var keys []int64
		for _, s := range list {
			if s.Key != 0 {
				keys = append(keys, s.Key)
			}
		}
		if len(keys) == 0 {
			return nil
		}
		slices.Sort(keys)
		var err error
		if list, err = find(slices.Compact(keys)); err != nil {
			return err
		}
		if err = write(list); err != nil {
			return err
		}
	}
	return nil
}

// ScanCarried reads SuppressionColumns of a number that moved, and dest, target, new and at of the
// move, as the suppression of the new number. Its Key is 0 if the new number does not get it.
func ScanCarried(scan func(...any) error) (campaign.Suppression, error) {
	var m campaign.Move
	var at int64
	s, err := ScanSuppression(func(into ...any) error { return scan(append(into, &m.FromPhone, &m.To, &m.ToPhone, &at)...) })
	if m.At = TimeOf(at); !m.Carries(s) {
		return campaign.Suppression{}, err
	}
	return m.Carried(s), err
}

// Moves returns the moves that can be obeyed: from one number to another.
func Moves(all []campaign.Move) []campaign.Move {
	return slices.DeleteFunc(slices.Clone(all), func(m campaign.Move) bool { return m.From == 0 || m.To == 0 || m.From == m.To })
}

// ScanSuppression reads SuppressionColumns.
func ScanSuppression(scan func(...any) error) (s campaign.Suppression, err error) {
	var scope, proof string
	var until, at int64
	if err = scan(&s.Key, &scope, &until, &at, &s.To, &s.Source, &proof); err == nil && proof != "" {
		err = json.Unmarshal([]byte(proof), &s.Proof)
	}
	s.Until, s.At = TimeOf(until), TimeOf(at)
	kind, company, _ := strings.Cut(scope, "@")
	s.Scope, s.Company = campaign.Scope(kind), company
	return s, err
}
