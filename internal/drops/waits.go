package drops

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/sentence"
)

// mostWaits is the most waiting files of a folder that the ledger keeps, and mostForeign how many
// of them may be files that are never taken.
const (
	mostWaits   = 200
	mostForeign = 50
)

// note stores the files that wait, if they have changed.
func (w *Watcher) note(ctx context.Context, p *watched) {
	all := make([]campaign.DropWait, 0, len(p.waits))
	for _, wait := range p.waits {
		all = append(all, wait)
	}
	slices.SortFunc(all, func(a, b campaign.DropWait) int { return strings.Compare(a.Key, b.Key) })
	if len(all) > mostWaits {
		all = append(all[:mostWaits:mostWaits], campaign.DropWait{Bucket: p.Name, Prefix: p.Prefix, Key: "…",
			Reason: "more files wait here", Since: all[0].Since})
	}
	fault := p.waits[""].Reason
	if fault != p.failed {
		if p.failed = fault; fault != "" {
			w.o.Log.Error("a watched folder cannot be read; it is tried again", "bucket", p.Name, "prefix", p.Prefix, "err", fault)
		} else {
			w.o.Log.Info("a watched folder can be read again", "bucket", p.Name, "prefix", p.Prefix)
		}
	}
	if slices.Equal(all, p.noted) && p.noted != nil {
		return
	}
	if err := w.o.Ledger.NoteWaits(ctx, p.Name, p.Prefix, all); err == nil {
		p.noted = all
	}
}

// takenBefore says why a version that was taken before is not taken again.
func takenBefore(f campaign.DroppedFile) string {
	at := sentence.Instant(f.TakenAt)
	switch {
	case f.State == campaign.DropRejected:
		return fmt.Sprintf("this version was rejected (taken %s); `touch` it to have it taken again. The reason: %s", at, f.Detail)
	case f.Run != 0:
		return fmt.Sprintf("this version was taken %s and launched as %s; `campaignd launch` with --new launches a list again", at,
			campaign.Run{No: f.Run, Campaign: f.Campaign}.ID())
	}
	return "this version was taken " + at
}

// lone says what becomes of the sidecar of a list that is not there. A sidecar that came after its
// list would be that of the next one, with another filter or window.
func lone(list string) string {
	return fmt.Sprintf("there is no list %s here; the next one is launched with this sidecar: remove it if it was meant for an earlier one",
		path.Base(list))
}
