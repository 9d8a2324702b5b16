package daemon

import (
	"fmt"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
)

// warnFiresToo warns of the launch of a campaign whose file in the campaigns folder has one time to
// come (schedule.at). A launch is now, whatever its schedule, and a firing is never refused, so the
// people of the list get the message at both times. A campaign with cron is sent again anyway.
func warnFiresToo(folder string, p *launch.Preflight, now time.Time) {
	all, _ := schedule.Read(folder) // of a broken file nothing fires but what an earlier process read
	for _, s := range all {
		if _, once := s.Cron.Once(); !once || s.Definition.Name != p.Campaign || s.Next(now).At.IsZero() {
			continue
		}
		p.Findings = append(p.Findings, file.Finding{Level: file.LevelWarning, Where: s.File,
			What:   fmt.Sprintf("this launch is now, and schedule.at sends to its list too, at %s", sentence.Instant(s.Next(now).At)),
			Remedy: "remove that file before then if once is meant"})
	}
}
