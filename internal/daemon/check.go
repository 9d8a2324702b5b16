package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/campaign/plan"
	"campaignd/internal/config"
	"campaignd/internal/numbers"
	"campaignd/internal/schedule"
)

// CheckCampaign runs a preflight, and adds what the configuration and the ledger say: quotas, the
// forecast, what a launch would do, and the window. Without in.Service it asks the service nothing.
// l may be nil. known is what a process that serves knows of its numbers and plans; nil asks the
// service, unless the check is one without it. Only Others counts in in.Repeats: the check
// is of another run of the campaign.
func CheckCampaign(
	ctx context.Context, c *config.Config, l campaign.Ledger, known *numbers.Quotas, in launch.PreflightInput,
) (*launch.Preflight, error) {
	another := in.Repeats != nil && in.Repeats.Others
	if in.Repeats = nil; l != nil {
		in.Repeats = &launch.Repeats{Ledger: l, Within: c.SentBefore.Within.Std(), Exempt: true, Others: another,
			LeaveOut: in.Definition.Policies.SentBefore == file.SentBeforeLeaveOut}
	}
	found, err := launch.RunPreflight(ctx, in)
	if err != nil {
		return nil, err
	}
	for _, id := range found.Unlisted(slices.Sorted(maps.Keys(c.Numbers))) {
		found.Findings = append(found.Findings, file.Warning(file.KindConnection, 0, "",
			fmt.Sprintf("numbers.%s of the configuration limits nothing: the service lists no connection %q", id, id),
			"correct the id in the configuration, or remove it"))
	}
	q := known
	switch {
	case known == nil && in.Service == nil:
		q = numbers.NewQuotas(c, numbers.NewDirectory(c), l, slog.New(slog.DiscardHandler))
	case known == nil:
		known = numbers.AskQuotas(ctx, c, l)
		q = known
	}
	if err := numbers.CheckQuotas(ctx, q, found, time.Now()); err != nil {
		return nil, err
	}
	if err := estimate(ctx, c, l, in.Definition, found, time.Now()); err != nil {
		return nil, err
	}
	if err := checkForecast(ctx, c, l, known, in.Definition, found, in.Service != nil, time.Now()); err != nil {
		return nil, err
	}
	if err := checkSchedule(ctx, l, in, found, time.Now()); err != nil {
		return nil, err
	}
	if err := checkLost(ctx, l, found, time.Now()); err != nil {
		return nil, err
	}
	if found.OK() {
		if err := checkEarlier(ctx, c, l, in, found, another); err != nil {
			return nil, err
		}
	}
	if s, ok := in.Service.(asker); ok {
		found.Assumed, found.NotOffered = s.Asked()
	}
	if in.Offer != nil {
		found.Assumed = append(found.Assumed, in.Offer.Assumed...)
	}
	if err := checkOffer(in.Definition, found, time.Now()); err != nil {
		return nil, err
	}
	return found, CheckWindow(in.Definition, found, time.Now())
}

// asker is a service that knows which of its operations were asked.
type asker interface {
	Asked() (offered, absent []string)
}

// checkSchedule warns of a schedule whose only time has passed.
func checkSchedule(ctx context.Context, l campaign.Ledger, in launch.PreflightInput, found *launch.Preflight, now time.Time) error {
	c, err := plan.CronOf(in.File, in.Source, in.Definition)
	if err != nil {
		return err
	}
	past, err := schedule.Past(ctx, l, in.Definition, c, now)
	if err != nil || past == "" {
		return err
	}
	found.Findings = append(found.Findings, file.ReadSource(in.File, in.Source).Finding(file.KindSchedule, "schedule.at", past,
		"give it a later time, or remove schedule"))
	return nil
}

// checkEarlier says what a launch would do beside the earlier runs of the ledger and the schedule
// of the campaign.
func checkEarlier(
	ctx context.Context, c *config.Config, l campaign.Ledger, in launch.PreflightInput, found *launch.Preflight, another bool,
) error {
	hash := found.ListHash
	if in.Offer != nil { // the list was made for this check
		hash = ""
	}
	does, err := launch.Inspect(ctx, l, in.Definition, in.Source, in.List, hash, found, another)
	var scheduled *launch.ScheduledError
	if does.Does == launch.Launches && errors.As(scheduledToo(ctx, l, c.Campaigns)(in.Definition.Name, hash), &scheduled) {
		does = *scheduled.Check()
	}
	found.Launch = &does
	return err
}
