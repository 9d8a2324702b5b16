package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/config"
	"campaignd/internal/drops"
	"campaignd/internal/messaging"
	"campaignd/internal/schedule"
	"campaignd/internal/sentence"
)

// checkDrops lists each watched folder once, and looks for the campaign that its lists start.
func checkDrops(ctx context.Context, cfg *config.Config) (checks []Check) {
	const name = "drops"
	if cfg.Role == config.RoleIntake || len(cfg.Drops) == 0 {
		return nil
	}
	campaigns := schedule.NewFolder(cfg.Campaigns)
	_, _ = campaigns.Look() // checkCampaigns names the faults
	looks := make([]error, len(cfg.Drops))
	var wait sync.WaitGroup
	for i := range cfg.Drops { // at once: one that does not answer is no fault of the others
		wait.Go(func() { looks[i] = lookAt(ctx, &cfg.Drops[i]) })
	}
	wait.Wait()
	for i := range cfg.Drops {
		r := &cfg.Drops[i]
		where := config.RedactURL(r.Bucket)
		if r.Prefix != "" {
			where += " with prefix " + r.Prefix
		}
		if err := looks[i]; errors.Is(err, fs.ErrNotExist) {
			checks = append(checks, Check{name, HealthFail, where + " does not exist, so no list is taken from it",
				"make it, or correct drops in the configuration"})
			continue
		} else if err != nil {
			checks = append(checks, Check{name, HealthFail, fmt.Sprintf("%s cannot be listed: %s", where, messaging.Scrub(err.Error(), 200)),
				"let campaignd read it, or correct drops in the configuration"})
			continue
		}
		if _, err := campaigns.Find(r.Campaign); err != nil {
			checks = append(checks, Check{name, HealthFail, where + ": its lists wait: " + strings.ReplaceAll(err.Error(), "\n", "; "),
				"add the campaign file, or correct drops in the configuration"})
			continue
		}
		checks = append(checks, good(name, "%s can be listed, and its lists start %s", where, r.Campaign))
	}
	return checks
}

// lookAt lists a rule's files up to the first one. A folder that does not exist is fs.ErrNotExist.
func lookAt(ctx context.Context, r *config.Drop) error {
	b, err := r.Open()
	if err != nil {
		return err
	}
	for _, err := range b.List(ctx, r.Prefix) {
		return err
	}
	if folder, ok := b.(*drops.Folder); ok { // its List takes a missing subfolder for an empty one
		_, err = folder.Stat(ctx, path.Dir(r.Prefix+"x"))
	}
	return err
}

// checkSignatures tells which events were refused for their signature, by any process of the
// ledger.
func checkSignatures(ctx context.Context, cfg *config.Config, l reception.SignatureLedger) Check {
	const name = "signatures"
	remedy := "compare webhooks.secrets with the secrets of `campaignd webhooks list`; `campaignd webhooks rotate ENDPOINT` " +
		"gives a new one; restart every process after a change"
	s, err := l.Signatures(ctx)
	if err != nil {
		return fail(name, "check ledger in the configuration", err)
	}
	if s.OfApps() {
		remedy = "copy the secret from the dashboard of the app into the app_secret_file of its account, which counts within seconds; " +
			"name every account that the app is subscribed to in cloud.accounts"
	}
	refused, none := wording.Refused(s, time.Now())
	last := s.LastVerified()
	switch {
	case none:
		return Check{name, HealthFail, refused, remedy}
	case refused != "":
		return Check{name, HealthWarn, refused, remedy}
	case last.IsZero() && (cfg.Role == config.RoleSender || !cfg.Receives()):
		return good(name, "this process verifies no events")
	case last.IsZero():
		return unchecked(name, "look again when the first events have come",
			"no event was refused, and none has been verified yet, or the first came less than a minute ago")
	}
	return good(name, "no event was refused lately; the last one was verified at %s", sentence.Instant(last))
}

// checkRuns counts the runs that have not ended, and names those that wait for a person.
func checkRuns(ctx context.Context, l campaign.Ledger) Check {
	const name = "runs"
	runs, err := l.Runs(ctx, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return fail(name, "check ledger in the configuration", err)
	}
	holds, err := l.Holds(ctx, false)
	if err != nil {
		return fail(name, "check ledger in the configuration", err)
	}
	var waiting []string
	for _, r := range runs {
		switch {
		case r.State == campaign.Paused || r.Wanted == campaign.WantPause:
			waiting = append(waiting, r.ID()+" is paused")
		case r.State == campaign.WaitingApproval:
			waiting = append(waiting, r.ID()+" waits for approval")
		}
	}
	now := time.Now()
	for _, h := range holds {
		if h.InForce(now) && h.Until.IsZero() {
			waiting = append(waiting, string(h.Scope)+" "+h.ID+" is held ("+h.Reason+")")
		}
	}
	unfinished := sentence.Count(len(runs), "run is unfinished", "runs are unfinished")
	if len(waiting) > 0 {
		return warn(name, "`campaignd why RUN` and `campaignd holds` say why, and what goes on", "%s; %s",
			unfinished, strings.Join(waiting, ", "))
	}
	if len(runs) == 0 {
		return good(name, "every run has ended")
	}
	return good(name, "%s, and none waits for a person", unfinished)
}

// checkOptOuts counts the opt-outs and opt-ins whose events named no number, and none is known yet.
func checkOptOuts(ctx context.Context, l campaign.Ledger) Check {
	const name = "opt-outs"
	u, err := l.Unattributed(ctx)
	if err != nil {
		return fail(name, "check ledger in the configuration", err)
	}
	if u.N == 0 {
		return good(name, "none waits for the number of its person")
	}
	who := "its event names nobody"
	if u.UserID != "" {
		who = "of user id " + u.UserID
	}
	return warn(name, "each is obeyed as soon as an event tells the number of the user id; "+
		"if you know it, `campaignd suppressions add NUMBER --scope marketing`",
		"%s person, the oldest since %s (%s): marketing to it goes on",
		sentence.Count(u.N, "opt-out or opt-in waits for the number of its", "opt-outs or opt-ins wait for the number of their"),
		u.Since.UTC().Format(time.RFC3339), who)
}

// checkLost warns of events that the ledger lost and nobody has asked for (reception.NotAsked).
func checkLost(ctx context.Context, l campaign.Ledger) []Check {
	const name = "lost events"
	lost, err := l.LostTimes(ctx)
	if err != nil {
		return []Check{fail(name, "check ledger in the configuration", err)}
	}
	for _, t := range lost {
		if t.Replaying() && time.Since(t.Asked) < reception.ListenKept {
			return []Check{warn(name, "wait, or `campaignd webhooks replay --end` if no more come",
				"%d of %d deliveries have come that the service posts again since %s", t.Came, t.Deliveries, t.Asked.UTC().Format(time.RFC3339))}
		}
	}
	missing := reception.NotAsked(lost, time.Now())
	if missing.IsZero() {
		return nil
	}
	told, remedy := wording.LostEvents(missing)
	return []Check{warn(name, remedy, "%s", told)}
}
