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

// firesOnce returns the file of the campaigns folder whose campaign has the name and one time to
// come (schedule.at), and that time; zero if there is none. A launch is now, whatever its schedule,
// and a firing is never refused, so people who are in both lists get the message at both times. A
// campaign with cron is sent again anyway.
func firesOnce(folder, name string, now time.Time) (s schedule.Scheduled, at time.Time) {
	all, _ := schedule.Read(folder) // of a broken file nothing fires but what an earlier process read
	for _, s := range all {
		if _, once := s.Cron.Once(); once && s.Definition.Name == name {
			return s, s.Next(now).At
		}
	}
	return s, at
}

// scheduledToo returns a Request.Scheduled: it refuses the list that the campaign's file in the
// folder will send at its one time.
func scheduledToo(folder string) func(name, hash string) error {
	return func(name, hash string) error {
		s, at := firesOnce(folder, name, time.Now())
		if at.IsZero() {
			return nil
		}
		own := ""
		if list := file.Beside(s.File, s.Definition.Recipients.File); list != "" {
			var err error
			if own, _, err = recipients.Hash(list); err != nil {
				return nil //nolint:nilerr // what cannot be read now is not the list that is launched
			}
		}
		if own != hash {
			return nil
		}
		return &launch.ScheduledError{File: s.File, At: at}
	}
}

// warnFiresToo warns of a launch whose campaign has one time to come.
func warnFiresToo(folder string, p *launch.Preflight, now time.Time) {
	if s, at := firesOnce(folder, p.Campaign, now); !at.IsZero() {
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning, Where: s.File,
			What:   fmt.Sprintf("this launch is now, and schedule.at sends to its list too, at %s", sentence.Instant(at)),
			Remedy: "remove that file before then if once is meant"})
	}
}
