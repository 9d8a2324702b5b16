package launch

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// Renamed looks only at runs of other campaigns that ended within renamedWithin.
const renamedWithin = 7 * 24 * time.Hour

// Renamed adds a warning to the preflight of a launch if a run of another campaign has the same
// bytes as its list, the same template, the same choice of rows and one of its connections. The
// name of a campaign identifies its runs, so a new name alone sends the same message to everybody
// again, and no rule refuses that: two campaigns may share a list and a template on purpose.
func Renamed(ctx context.Context, l campaign.RunLedger, in PreflightInput, found *Preflight) error {
	if found.ListHash == "" {
		return nil
	}
	now := time.Now()
	runs, err := l.Runs(ctx, campaign.RunFilter{ListHash: found.ListHash, EndedAfter: now.Add(-renamedWithin)})
	if err != nil {
		return fmt.Errorf("read runs: %w", err)
	}
	for _, r := range runs {
		if !sameMessage(r, in.Definition) {
			continue
		}
		found.SentAs = fmt.Sprintf("%s of %s has this list and this template under another name"+sentTwice, r.ID(), Ago(now.Sub(r.CreatedAt)))
		found.Findings = append(found.Findings, file.ReadSource(in.File, in.Source).Finding(file.LevelWarning, "name", found.SentAs,
			"if that is not meant, name the campaign "+r.Campaign+" again"))
		return nil
	}
	return nil
}

// sentTwice is the end of Preflight.SentAs.
const sentTwice = ": its people get the message twice"

// renamed warns of a run of another campaign that sends the same. It refuses a late firing for it,
// and leaves other firings as they are: nobody sees their warnings.
func (l Request) renamed(ctx context.Context, in PreflightInput, found *Preflight) error {
	if !l.Late && strings.HasPrefix(l.Key, campaign.FiringKey) {
		return nil
	}
	if err := Renamed(ctx, l.Ledger, in, found); err != nil || !l.Late || found.SentAs == "" {
		return err
	}
	return &SentAsError{strings.TrimSuffix(found.SentAs, sentTwice)}
}

// SentAsError says that a firing, which is late, would send what a run of another campaign sends.
type SentAsError struct{ reason string }

// Error names that run and the way out.
func (e *SentAsError) Error() string {
	return e.reason + ", so it was not launched this late; to send it all the same, give schedule.at a time to come"
}

// sameMessage reports whether a run of another campaign sends, or sent, the message of d to the
// rows that d chooses, as far as that is known without its list.
func sameMessage(r campaign.Run, d *file.Definition) bool {
	if r.Campaign == d.Name || r.Parent != 0 || r.Template != d.Template.Name || r.Language != d.Template.Language ||
		r.StartedAt.IsZero() && (r.State.Ended() || r.Wanted == campaign.WantCancel) {
		return false
	}
	was, err := file.ParseStored(r.ID(), r.Definition)
	return err == nil && reflect.DeepEqual(was.Recipients.Where, d.Recipients.Where) &&
		slices.ContainsFunc(was.Connections, func(c string) bool { return slices.Contains(d.Connections, c) })
}
