package daemon

import (
	"fmt"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
	"campaignd/recipients"
)

// firesOnce returns the files of the campaigns folder whose campaign has the name and one time to
// come (schedule.at). A launch is now, whatever its schedule, and a firing is never refused, so
// people who are in both lists get the message at both times. A campaign with cron is sent again
// anyway. A `serve` may have begun with any of several files of the name.
func firesOnce(folder, name string, now time.Time) (all []schedule.Scheduled) {
	d := schedule.NewFolder(folder)
	_, _ = d.Look() // of a broken file nothing fires but what an earlier process read
	for _, s := range d.Named(name) {
		if s.Cron == nil {
			continue
		}
		if once, ok := s.Cron.Once(); ok && once.At.After(now) {
			all = append(all, s)
		}
	}
	return all
}

// scheduledToo returns a Request.Scheduled: it refuses the list that the campaign's file in the
// folder will send at its one time.
func scheduledToo(folder string) func(name, hash string) error {
	return func(name, hash string) error {
		now := time.Now()
		for _, s := range firesOnce(folder, name, now) {
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
func warnFiresToo(folder string, p *launch.Preflight, now time.Time) {
	for _, s := range firesOnce(folder, p.Campaign, now) {
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning, Where: s.File,
			What:   fmt.Sprintf("this launch is now, and schedule.at sends to its list too, at %s", sentence.Instant(s.Next(now).At)),
			Remedy: "remove that file before then if once is meant"})
	}
}
