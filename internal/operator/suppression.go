package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
	"campaignd/internal/uploads"
	"campaignd/recipients"
)

// Suppressions lists the suppressed numbers in order: at most limit that follow the number after.
// next is the after of the next page, "" on the last one. to selects one number; "": all.
func (d *Session) Suppressions(ctx context.Context, to, after string, limit int) (list []resource.Suppression, next string, err error) {
	key, behind := recipients.Key(to), recipients.Key(after)
	if other := recipients.Other(behind); e164(other) == after {
		behind = other // an entry of an earlier version
	}
	switch {
	case limit < 1 || limit > mostPage:
		return nil, "", invalid("limit %d: want 1 to %d", limit, mostPage)
	case to != "" && key == 0:
		return nil, "", invalid("%q is no phone number with a country code; want for example +2348031234567", to)
	case after != "" && behind == 0:
		return nil, "", invalid("%q is no phone number with a country code", after)
	}
	list = []resource.Suppression{}
	last := int64(0) // the key of the last entry of the page
	for s, err := range d.Ledger.Suppressions(ctx) {
		if err != nil {
			return nil, "", err
		}
		if s.Key <= behind && after != "" || to != "" && recipients.Fold(s.Key) != key || d.Company != "" && s.Company != d.Company {
			continue
		}
		if len(list) >= limit && last != s.Key {
			return list, e164(last), nil
		}
		last = s.Key
		list = append(list, resource.Suppression{To: s.To, Scope: s.Scope, Company: s.Company, Source: s.Source, At: s.At.UTC(), Until: s.Until})
	}
	return list, "", nil
}

// e164 is a key as a number. Not every entry has been stored under recipients.Key of its number.
func e164(key int64) string { return fmt.Sprintf("+%d", key) }

// AddSuppressions suppresses numbers, which are in international form with +. The session of one
// company suppresses them for the messages of that company alone.
func (d *Session) AddSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error) {
	list, err := launch.ParseSuppressions(numbers, scope, time.Now())
	if err != nil {
		return resource.Suppressed{}, invalid("%v", err)
	}
	for i := range list {
		list[i].Company = d.Company
	}
	if err := d.note(ctx, "suppressions add", count(len(list)), "scope "+string(scope)); err != nil {
		return resource.Suppressed{}, err
	}
	n, err := d.Ledger.Suppress(ctx, list)
	return resource.Suppressed{Changed: n, Unchanged: len(list) - n}, err
}

// RemoveSuppressions takes numbers off the list: from one scope, or with "" from every scope.
func (d *Session) RemoveSuppressions(ctx context.Context, numbers []string, scope campaign.Scope) (resource.Suppressed, error) {
	if d.Company != "" {
		return resource.Suppressed{}, fmt.Errorf("%w: a key of one company takes no number off the list", ErrForbidden)
	}
	check := scope
	if check == "" {
		check = campaign.ScopeAll
	}
	if _, err := launch.ParseSuppressions(numbers, check, time.Now()); err != nil {
		return resource.Suppressed{}, invalid("%v", err)
	}
	from := "every scope"
	if scope != "" {
		from = "scope " + string(scope)
	}
	if err := d.note(ctx, "suppressions remove", count(len(numbers)), from); err != nil {
		return resource.Suppressed{}, err
	}
	lifted, absent, err := launch.LiftSuppressions(ctx, d.Ledger, numbers, scope)
	return resource.Suppressed{Changed: lifted, Unchanged: absent}, err
}

// count names how many numbers an action is about: the log has no phone number.
func count(n int) string {
	if n == 1 {
		return "1 number"
	}
	return fmt.Sprintf("%d numbers", n)
}

// mostFaults is the most rejected rows that an import lists.
const mostFaults = 1000

// ImportSuppressions suppresses the numbers of a CSV file, which it reads to its end. A session of
// one company suppresses them for the messages of that company alone. Rows that cannot be imported
// are in out, and all others are imported.
func (d *Session) ImportSuppressions(ctx context.Context, file io.Reader, q resource.SuppressionImport) (out resource.Imported, err error) {
	scope := cmp.Or(q.Scope, campaign.ScopeMarketing)
	if _, err := launch.ParseScope(string(scope)); err != nil {
		return out, invalid("%v", err)
	}
	if err := launch.ParseListName(q.Source); err != nil {
		return out, invalid("%v", err)
	}
	if _, err := recipients.NewPhones(recipients.ValidatePossible, q.DefaultRegion); err != nil {
		return out, invalid("default region %s", strings.TrimPrefix(err.Error(), "recipients.default_region: "))
	}
	if q.At.After(time.Now()) {
		return out, invalid("the date %s is in the future", q.At.Format(time.RFC3339))
	}
	name := filepath.Base(filepath.FromSlash(cmp.Or(q.File, "upload.csv")))
	if err := d.note(ctx, "suppressions import", cmp.Or(q.Source, "import"), "scope "+string(scope)); err != nil {
		return out, err
	}
	counts, err := launch.ImportSuppressions(ctx, d.Ledger, launch.SuppressionFile{
		Path: name, Input: file, Scope: scope, Source: q.Source, At: q.At, Company: d.Company, DefaultRegion: q.DefaultRegion,
		Rejected: func(line int, why string) {
			if len(out.Faults) < mostFaults {
				out.Faults = append(out.Faults, resource.RowFault{Line: line, What: why})
			}
		},
	})
	out.Rows, out.Added, out.Known, out.Rejected = counts.Rows, counts.Added, counts.Known, counts.Rejected
	return out, err
}

// ShowSuppressions returns the entries of one number, with the proof of each. A session of one
// company sees those of that company, and only the existence of those for all companies.
func (d *Session) ShowSuppressions(ctx context.Context, number string) ([]why.ShownSuppression, error) {
	shown, err := why.ShowSuppressions(ctx, d.Ledger, number, time.Now())
	if errors.Is(err, launch.ErrNoNumber) {
		return nil, invalid("%v", err)
	}
	if d.Company == "" {
		return shown, err
	}
	shown = slices.DeleteFunc(shown, func(s why.ShownSuppression) bool { return s.Company != "" && s.Company != d.Company })
	for i, s := range shown {
		if s.Company == "" {
			shown[i].Source, shown[i].Proof = "", campaign.Proof{}
			shown[i].Sentence = s.To + " is on the suppression list for all companies"
		}
	}
	return shown, err
}

// ExportSuppressions writes the whole list as CSV.
func (d *Session) ExportSuppressions(ctx context.Context, w io.Writer) error {
	if d.Company != "" {
		return fmt.Errorf("%w: the whole list is not for a key of one company", ErrForbidden)
	}
	return launch.ExportSuppressions(ctx, d.Ledger, w)
}

// Erase removes a number in international form with + from the ledger (campaign.ErasureLedger), and
// the lists of audiences that no run needs. The log of actions does not name it.
func (d *Session) Erase(ctx context.Context, number string) (campaign.Erased, error) {
	if d.Company != "" {
		return campaign.Erased{}, fmt.Errorf("%w: a key of one company erases no number", ErrForbidden)
	}
	typed, err := launch.ParseSuppressions([]string{number}, campaign.ScopeAll, time.Now())
	if err != nil {
		return campaign.Erased{}, invalid("%v", err)
	}
	if err := d.note(ctx, "erase", count(1), ""); err != nil {
		return campaign.Erased{}, err
	}
	if d.ErasuresIn != "" {
		if err := noteErasure(d.ErasuresIn, d.Ledger.LedgerID(), d.Ledger.Pseudonyms(typed[0].Key), time.Now()); err != nil {
			return campaign.Erased{}, fmt.Errorf("nothing is erased, because it cannot be noted for a restore: %w", err)
		}
	}
	done, err := d.Ledger.Erase(ctx, typed[0].Key)
	if err == nil && d.Lists != nil {
		done.Lists, err = d.Lists.Sweep(ctx)
	}
	if err == nil && d.UploadsIn != "" {
		kept, counted := uploads.Kept(d.UploadsIn)
		done.Lists, err = done.Lists+kept, counted
	}
	return done, err
}
