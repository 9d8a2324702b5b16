package daemon

import (
	"context"
	"fmt"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// firesOnce returns the files of the campaigns folder whose campaign has the name and one time to
// come (schedule.at). A launch is now, whatever its schedule, and a firing is never refused, so
// people who are in both lists get the message at both times. A campaign with cron is sent again
// anyway. A `serve` may have begun with any of several files of the name. l tells whether that time
// still fires; it may be nil.
func firesOnce(ctx context.Context, l campaign.FiringLedger, folder, name string, now time.Time) (all []schedule.Scheduled) {
	d := schedule.NewFolder(folder)
	_, _ = d.Look() // of a broken file nothing fires but what an earlier process read
	for _, s := range d.Named(name) {
		if s.Cron == nil {
			continue
		}
		once, ok := s.Cron.Once()
		if !ok || !once.At.After(now) {
			continue
		}
		if never, err := schedule.Past(ctx, l, s.Definition, s.Cron, now); never == "" || err != nil {
			all = append(all, s)
		}
	}
	return all
}

// scheduledToo returns a Request.Scheduled: it refuses the list that the campaign's file in the
// folder will send at its one time.
func scheduledToo(ctx context.Context, l campaign.FiringLedger, folder string) func(name, hash string) error {
	return func(name, hash string) error {
		now := time.Now()
		for _, s := range firesOnce(ctx, l, folder, name, now) {
			own := ""
			if list := file.Beside(s.File, s.Definition.Recipients.File); list != "" {
				var err error
				if own, _, err = recipients.Hash(list); err != nil {
					continue // what cannot be read now is not the list that is launched
				}
			}
			if own == hash {
				return &launch.ScheduledError{File: s.File, At: s.Next(now).At}
			}
		}
		return nil
	}
}

// warnFiresToo warns of a launch whose campaign has one time to come.
func warnFiresToo(ctx context.Context, l campaign.FiringLedger, folder string, p *launch.Preflight, now time.Time) {
	for _, s := range firesOnce(ctx, l, folder, p.Campaign, now) {
		p.Findings = append(p.Findings, file.Warning(file.KindSchedule, 0, s.File,
			fmt.Sprintf("this launch is now, and schedule.at sends to its list too, at %s", sentence.Instant(s.Next(now).At)),
			"remove that file before then if once is meant"))
	}
}
