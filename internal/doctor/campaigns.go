package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/config"
	"campaignd/internal/ledger/backend"
	"campaignd/internal/operator"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
)

// checkCampaigns reads the files of the campaigns folder, and opens the lists of those with a
// schedule.
func checkCampaigns(ctx context.Context, cfg *config.Config) []Check {
	const name = "campaigns"
	if _, err := os.Stat(cfg.Campaigns); errors.Is(err, fs.ErrNotExist) {
		const none = "there is no folder %s, so no schedule fires"
		if cfg.Campaigns != config.Default().Campaigns {
			return []Check{warn(name, "make it, or correct campaigns in the configuration", none, cfg.Campaigns)}
		}
		return []Check{good(name, none, cfg.Campaigns)}
	}
	if err := schedule.CheckFolder(cfg.Campaigns); err != nil {
		return []Check{fail(name, "correct campaigns in the configuration", err)}
	}
	files, err := schedule.Files(cfg.Campaigns)
	if err != nil {
		return []Check{fail(name, "make the folder readable", err)}
	}
	var broken []string
	scheduled := 0
	for _, f := range files {
		if f.Cron != nil {
			scheduled++
		}
		for _, found := range f.Findings {
			broken = append(broken, found.String())
		}
	}
	checks := []Check{good(name, "%s in %s, %d scheduled", sentence.Count(len(files), "file", "files"), cfg.Campaigns, scheduled)}
	if len(broken) > 0 {
		checks = []Check{fail(name, "correct the file; `campaignd schedule` shows the firings of the others", errors.New(strings.Join(broken,
			"; ")))}
	}
	if scheduled > 0 && cfg.Role != config.RoleIntake { // an intake launches nothing
		checks = append(checks, checkSchedules(ctx, cfg, files, time.Now())...)
		checks = append(checks, checkTemplates(ctx, cfg, files)...)
	}
	return checks
}

// checkSchedules warns of each schedule that will launch nothing: its only time has passed, its
// list cannot be read now, or a clock was ahead.
func checkSchedules(ctx context.Context, cfg *config.Config, files []operator.File, now time.Time) (checks []Check) {
	const name = "schedule"
	firings, known := firingsOf(ctx, cfg)
	if firings != nil {
		defer firings.Close()
		checks = checkAhead(ctx, cfg, firings, files, now)
	}
	for i := range files {
		f := &files[i]
		if f.Cron == nil {
			continue
		}
		var past string
		var err error
		if known {
			past, err = schedule.Past(ctx, firings, f.Definition, f.Cron, now)
		}
		next := f.Cron.Next(now).At
		switch {
		case err != nil:
			checks = append(checks, fail(name, ledgerRemedy(cfg), err))
		case past != "":
			checks = append(checks, warn(name, "give it a later time, or remove schedule or the file", "%s: schedule.at %s", f.Path, past))
		case f.Definition.Audience == nil && !next.IsZero():
			checks = append(checks, checkList(f, next)...)
		}
	}
	return checks
}

// checkAhead warns of records of times to come, which clocks that were ahead left in the ledger.
func checkAhead(ctx context.Context, cfg *config.Config, l campaign.FiringLedger, files []operator.File, now time.Time) (checks []Check) {
	const name, clocks = "schedule", "synchronise the clocks of all machines (NTP)"
	toCome := func(w campaign.FiringFilter) (f campaign.Firing, found bool) {
		w.Limit = 1
		newest, err := l.Firings(ctx, w)
		if err != nil {
			checks = append(checks, fail(name, ledgerRemedy(cfg), err))
		}
		if err != nil || len(newest) == 0 {
			return f, false
		}
		return newest[0], newest[0].At.After(now)
	}
	if f, found := toCome(campaign.FiringFilter{Outcome: campaign.FiringAdded}); found {
		checks = append(checks, warn(name, clocks, "a clock was ahead: the ledger was quarantined at %s, which is to come; "+
			"until then a process counts the firings before its start as missed", sentence.Instant(f.At)))
	}
	for i := range files {
		if files[i].Cron == nil {
			continue
		}
		if f, found := toCome(campaign.FiringFilter{Campaign: files[i].Definition.Name}); found {
			checks = append(checks, warn(name, clocks+"; one that is missed already is not launched then",
				"%s: a clock was ahead: its firing of %s, which is to come, is %s already", files[i].Path, sentence.Instant(f.At), f.Outcome))
		}
	}
	return checks
}

// checkList warns of a list that a firing at next could not import as it is now.
func checkList(f *operator.File, next time.Time) []Check {
	const name = "schedule"
	list := schedule.Scheduled{File: f.Path, Definition: f.Definition}.List()
	if list == "" {
		return []Check{warn(name, "set recipients.file in it, or audience", "%s fires at %s and names no list, so nothing will be sent",
			f.Path, sentence.Instant(next))}
	}
	faults := launch.ListFaults(f.Definition, list)
	if len(faults) == 0 {
		return nil
	}
	return []Check{warn(name, "put a whole list there before then, or correct recipients.file",
		"%s fires at %s, and its list %s cannot be used: %s", f.Path, sentence.Instant(next), list, faults[0].What)}
}

// firingsOf opens the ledger, which tells what became of firings; nil if there is none yet. It is
// not known for a ledger that cannot be read, of which checkLedger tells.
func firingsOf(ctx context.Context, cfg *config.Config) (l campaign.Ledger, known bool) {
	if cfg.NoLedger() {
		return nil, backend.Lost(cfg) == nil
	}
	l, err := backend.Read(ctx, cfg, nil)
	if err != nil {
		return nil, false
	}
	return l, true
}
