package launch

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

var everyScope = []campaign.Scope{campaign.ScopeMarketing, campaign.ScopeAll, campaign.ScopeUnreachable}

// ParseScope reads the name of a scope.
func ParseScope(s string) (campaign.Scope, error) {
	if slices.Contains(everyScope, campaign.Scope(s)) {
		return campaign.Scope(s), nil
	}
	return "", fmt.Errorf("scope %q is unknown; give marketing, all or unreachable", s)
}

// ErrNoNumber says that a text is not a phone number that may be sent to.
var ErrNoNumber = errors.New("not a phone number")

// ParseSuppressions makes suppressions of numbers that an operator typed, in international form
// with +. The error wraps ErrNoNumber and says what is wrong with which number, or says that the
// scope is unknown.
func ParseSuppressions(numbers []string, scope campaign.Scope, now time.Time) ([]campaign.Suppression, error) {
	if _, err := ParseScope(string(scope)); err != nil {
		return nil, err
	}
	phones, err := recipients.NewPhones(recipients.ValidatePossible, "")
	if err != nil {
		return nil, err
	}
	var out []campaign.Suppression
	for _, n := range numbers {
		if !strings.ContainsRune(n, '+') { // a list may have a region of its own, a typed number has none
			return nil, fmt.Errorf("%w: %q has no + and country code; write it in international form, such as +2348031234567",
				ErrNoNumber, sentence.Shorten(n, 40))
		}
		to, key, fault := phones.Parse(n)
		if fault != nil {
			return nil, fmt.Errorf("%w: %s", ErrNoNumber, fault.Message)
		}
		out = append(out, campaign.NewSuppression(key, to, scope, "operator", now.UTC()))
	}
	return out, nil
}

// LiftSuppressions removes numbers that an operator typed from the list: from one scope, or from
// every scope when scope is "". It counts the numbers that were on the list and those that were
// not. Errors are those of ParseSuppressions and of the ledger.
func LiftSuppressions(
	ctx context.Context, l campaign.SuppressionLedger, numbers []string, scope campaign.Scope,
) (lifted, absent int, err error) {
	scopes := []campaign.Scope{scope}
	if scope == "" {
		scopes = everyScope
	}
	typed, err := ParseSuppressions(numbers, scopes[0], time.Now())
	if err != nil {
		return 0, 0, err
	}
	for _, s := range typed {
		all := make([]campaign.Suppression, len(scopes))
		for i, scope := range scopes {
			all[i] = s
			all[i].Scope = scope
		}
		removed, err := l.Unsuppress(ctx, all)
		if err != nil {
			return lifted, absent, err
		}
		if removed > 0 {
			lifted++
		} else {
			absent++
		}
	}
	return lifted, absent, nil
}

// SuppressionFile is a CSV file of numbers that must not be sent to.
type SuppressionFile struct {
	Path string
	// Input is read instead of Path, which then only names it in errors; nil reads Path.
	Input io.Reader
	// Scope is for rows without a scope of their own.
	Scope campaign.Scope
	// Source names the list, and At says since when its numbers are suppressed, for rows that do not
	// say so themselves. The defaults are "import" and now.
	Source string
	At     time.Time
	// Company is the one whose messages alone the numbers stop; a row of another one is not
	// imported. "": each row says it, or stops the messages of all.
	Company string
	// DefaultRegion is the region of numbers without +; "" refuses them.
	DefaultRegion string
	// Rejected is called for each row that is not imported; it may be nil.
	Rejected func(line int, why string)
}

// SuppressionCounts counts what became of the rows of a file.
type SuppressionCounts struct{ Rows, Added, Known, Rejected int }

// ImportSuppressions reads the file and suppresses its numbers, a thousand in a transaction. It
// reports a faulty row to Rejected and leaves it out. Importing a file twice has no further effect.
// Errors are *recipients.FileError and those of the ledger.
func ImportSuppressions(ctx context.Context, l campaign.SuppressionLedger, f SuppressionFile) (counts SuppressionCounts, err error) {
	if _, err := ParseScope(string(f.Scope)); err != nil {
		return counts, err
	}
	if err := ParseListName(f.Source); err != nil {
		return counts, err
	}
	options := recipients.Options{DefaultRegion: f.DefaultRegion, Validate: recipients.ValidatePossible}
	var r *recipients.Reader
	if f.Input != nil {
		r, err = recipients.NewReader(f.Input, f.Path, options)
	} else {
		r, err = recipients.Open(f.Path, options)
	}
	if err != nil {
		return counts, ofNoCampaign(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for _, name := range suppressionHeader[1:] {
		first := slices.Index(r.Header(), name)
		if first >= 0 && slices.Contains(r.Header()[first+1:], name) {
			return counts, &recipients.FileError{
				File: f.Path, Line: 1, Message: fmt.Sprintf("several columns are called %q", name), Remedy: "rename all but one in the first line",
			}
		}
	}
	columns := suppressionColumns{r.Column("scope"), r.Column("until"), r.Column("source"), r.Column("at")}
	var batch []campaign.Suppression
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		added, err := l.Suppress(ctx, batch)
		if err != nil {
			return fmt.Errorf("store suppressions: %w", err)
		}
		counts.Added += added
		counts.Known += len(batch) - added
		batch = batch[:0]
		return nil
	}
	now := time.Now()
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			err = flush() // before counts is read
			return counts, err
		}
		if err != nil {
			err = errors.Join(ofNoCampaign(err), flush())
			return counts, err
		}
		counts.Rows++
		s, why := columns.read(row, &f, now)
		if why != "" {
			counts.Rejected++
			if f.Rejected != nil {
				f.Rejected(row.Line, why)
			}
			continue
		}
		if batch = append(batch, s); len(batch) == suppressionBatch {
			if err := flush(); err != nil {
				return counts, err
			}
		}
	}
}

// noCampaign replaces remedies that name keys of a campaign file by the flags of this command,
// which has no campaign file.
var noCampaign = strings.NewReplacer(
	"set recipients.default_region if the whole list is of one country", "give --default-region if the whole file is of one country",
	"set recipients.default_region", "give --default-region",
	"check the path; recipients.file is relative to the campaign file", "check the path",
	"map it with recipients.columns: {to: COLUMN}", "call it to in the first line",
	"give it a first line with a name for each column, such as to,first_name", "give it a first line such as to",
	"give it a header line, such as to,first_name, and one recipient on each line after it",
	"give it a first line such as to, and one number on each line after it",
	"set recipients.encoding: utf-16le, or ", "", "set recipients.encoding: utf-16be, or ", "",
	"set recipients.encoding, for example windows-1252", "save it as UTF-8",
	", or set recipients.encoding to what it is (windows-1252?)", "")

// campaignKeys and setSkip match remedies that this command has no flags for.
var (
	campaignKeys = regexp.MustCompile(`, map the country with recipients\.columns: \{.*?\}|; read both with recipients\.columns: .*|` +
		`; leave it out with recipients\.skip.*|, or leave a remark at the end out.*`)
	setSkip = regexp.MustCompile(`: set recipients\.skip: [0-9]+`)
)

// ofNoCampaign is err with a remedy for a file that no campaign file describes.
func ofNoCampaign(err error) error {
	var f *recipients.FileError
	if !errors.As(err, &f) {
		return err
	}
	own := *f
	own.Remedy = noCampaign.Replace(setSkip.ReplaceAllString(f.Remedy, ": remove the lines above it"))
	if strings.Contains(own.Remedy, "recipients.columns") {
		own.Remedy = "call the right one to in the first line"
	}
	return &own
}

// OpenSuppressions opens a file of suppressions. The error is a *recipients.FileError that names no
// key of a campaign file.
func OpenSuppressions(path string) (*os.File, error) {
	f, err := recipients.OpenFile(path, "")
	if err != nil {
		return nil, ofNoCampaign(err)
	}
	return f, nil
}

// sourceName is the form of a source. Any other text in a file could be a formula and is not taken
// over.
var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}(:[A-Za-z0-9_.-]{1,32})?$`)

// ParseListName returns an error for a text that does not name the source of an import.
func ParseListName(name string) error {
	if name != "" && !sourceName.MatchString("import:"+name) {
		return fmt.Errorf("source %q: want at most 32 letters, digits, dots, hyphens and underscores, such as crm-2026",
			sentence.Shorten(name, 40))
	}
	return nil
}

// companyName is the form of a company id of the service. No formula has it.
var companyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$`)

// suppressionColumns are the indexes of the optional columns of the file; -1 when absent.
type suppressionColumns struct{ scope, until, source, at int }

// read makes a suppression of a row, or says what is wrong with the row.
func (c suppressionColumns) read(row *recipients.Row, f *SuppressionFile, now time.Time) (campaign.Suppression, string) {
	if row.Fault != nil {
		why := strings.TrimPrefix(row.Fault.Message, fmt.Sprintf("line %d", row.Line)) // Rejected gets the line
		return campaign.Suppression{}, noCampaign.Replace(campaignKeys.ReplaceAllString(strings.TrimLeft(why, ",: "), ""))
	}
	cell := func(i int) string {
		if i < 0 || i >= len(row.Cells) {
			return ""
		}
		return row.Cells[i]
	}
	scope, company := f.Scope, ""
	if own := cell(c.scope); own != "" {
		kind, of, one := strings.Cut(own, "@")
		if one && !companyName.MatchString(of) {
			return campaign.Suppression{}, fmt.Sprintf("scope %q has no company id of the service behind the @", sentence.Shorten(own, 40))
		}
		var err error
		if scope, err = ParseScope(kind); err != nil {
			return campaign.Suppression{}, err.Error()
		}
		company = of
	}
	if f.Company != "" {
		if company != "" && company != f.Company {
			return campaign.Suppression{}, fmt.Sprintf("scope %q is of another company", sentence.Shorten(cell(c.scope), 40))
		}
		company = f.Company
	}
	at, until := now, time.Time{}
	if !f.At.IsZero() {
		at = f.At
	}
	for _, t := range []struct {
		name, text string
		to         *time.Time
	}{{"until", cell(c.until), &until}, {"at", cell(c.at), &at}} {
		if t.text == "" {
			continue
		}
		var err error
		if *t.to, err = time.Parse(time.RFC3339, t.text); err != nil {
			return campaign.Suppression{}, fmt.Sprintf("%s: %q is no RFC 3339 time such as 2026-12-31T00:00:00Z",
				t.name, sentence.Shorten(t.text, 40))
		}
	}
	s := campaign.NewSuppression(row.Key, row.To, scope, "import", at.UTC())
	s.Company = company
	if !until.IsZero() {
		s.Until = until.UTC()
	}
	if f.Source != "" {
		s.Source += ":" + f.Source
	}
	if own := cell(c.source); sourceName.MatchString(own) {
		s.Source = own
	}
	return s.Proven(campaign.Proof{File: filepath.Base(f.Path), Line: row.Line}), ""
}

// suppressionHeader are the columns of an export, which ImportSuppressions can read.
var suppressionHeader = []string{"to", "scope", "source", "at", "until"}

// ExportSuppressions writes the list as CSV, by number. Numbers keep their +: a spreadsheet does
// not take an E.164 number for a formula.
func ExportSuppressions(ctx context.Context, l campaign.SuppressionLedger, w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(slices.Clone(suppressionHeader)); err != nil {
		return fmt.Errorf("export suppressions: %w", err)
	}
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	for s, err := range l.Suppressions(ctx) {
		if err != nil {
			return fmt.Errorf("read suppressions: %w", err)
		}
		if err := out.Write([]string{s.To, s.ScopeText(), s.Source, stamp(s.At), stamp(s.Until)}); err != nil {
			return fmt.Errorf("export suppressions: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}
