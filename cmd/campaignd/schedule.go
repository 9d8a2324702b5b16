package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
)

// firingFacts is one firing of a schedule in JSON.
type firingFacts struct {
	Campaign string    `json:"campaign"`
	File     string    `json:"file"`
	Schedule string    `json:"schedule"` // schedule.cron, or schedule.at
	Timezone string    `json:"timezone"`
	At       time.Time `json:"at"`
	Local    string    `json:"local"`
	// Outcome is next for a firing that is still to come.
	Outcome string `json:"outcome"`
	Run     string `json:"run,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Missed counts the firings before this one that no process fired, from MissedSince on.
	Missed      int64     `json:"missed,omitempty"`
	MissedSince time.Time `json:"missed_since,omitzero"`
}

// mostFirings is the most firings listed for each campaign.
const mostFirings = 1000

func (p *program) cmdSchedule() *cobra.Command {
	var next, last int
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "List the next firings of the campaigns that have a schedule, and what became of the last",
		Long: `Lists the next firings of each campaign of the campaigns folder, and what became of its last firings: launched, with the
run; skipped, because an earlier run was unfinished (schedule.overlap); missed, because no process fired it in time
(schedule.misfire); failed, because no launch succeeded within schedule.grace; launching and waiting are not decided yet.`,
		Example: "  campaignd schedule\n  campaignd schedule --next 10 --last 0 -o json\n  campaignd schedule --next 0 --last 20",
		Args:    noArguments,
	}
	cmd.Flags().IntVar(&next, "next", 3, "firings to come to list for each campaign, at most 1000")
	cmd.Flags().IntVar(&last, "last", 3, "past firings to list for each campaign, at most 1000")
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		if err := daemon.CheckFolder(c.Campaigns); err != nil {
			fmt.Fprintf(p.stderr, "campaignd: %s\n", printable(err.Error()))
		}
		all, faults := daemon.ReadSchedule(c.Campaigns)
		facts := []firingFacts{}
		for _, s := range all {
			facts = append(facts, comingFirings(s, min(next, mostFirings))...)
		}
		past, err := p.pastFirings(cmd.Context(), c, all, min(last, mostFirings))
		if err != nil {
			return err
		}
		if o.json() {
			err = writeJSON(p.stdout, append(facts, past...))
		} else {
			err = p.writeFirings(facts, past)
		}
		if err != nil {
			return err
		}
		if faults != nil {
			return invalid(faults)
		}
		return nil
	}
	return cmd
}

// factsOfFiring are the facts of the schedule s with the firing at an instant.
func factsOfFiring(s daemon.Scheduled, at time.Time) firingFacts {
	zone := s.Cron.Zone()
	layout := "Mon 2006-01-02 15:04 MST"
	if at.Second() != 0 { // schedule.at may have seconds
		layout = "Mon 2006-01-02 15:04:05 MST"
	}
	return firingFacts{Campaign: s.Definition.Name, File: s.File, Schedule: s.Cron.String(), Timezone: zone.String(), At: at,
		Local: at.In(zone).Format(layout), Outcome: "next"}
}

// comingFirings lists the next firings of a schedule.
func comingFirings(s daemon.Scheduled, count int) (facts []firingFacts) {
	at := time.Now()
	for range count {
		f := s.Next(at)
		if f.At.IsZero() {
			break
		}
		at = f.At
		facts = append(facts, factsOfFiring(s, at))
	}
	return facts
}

// pastFirings lists the last firings of each schedule, the newest first, if there is a ledger.
func (p *program) pastFirings(ctx context.Context, c *daemon.Config, all []daemon.Scheduled, count int) (facts []firingFacts, err error) {
	if c.NoLedger() || count <= 0 || len(all) == 0 {
		return nil, nil
	}
	l, err := daemon.ReadLedger(ctx, c, p.log(c, true))
	if err != nil {
		return nil, err
	}
	defer closing(l, &err)
	for _, s := range all {
		firings, err := l.Firings(ctx, campaign.FiringFilter{Campaign: s.Definition.Name, Limit: count})
		if err != nil {
			return nil, err
		}
		for _, f := range firings {
			fact := factsOfFiring(s, f.At)
			fact.Outcome, fact.Detail, fact.Missed, fact.MissedSince = string(f.Outcome), f.Detail, f.Missed, f.MissedSince
			if f.Run != 0 {
				fact.Run = campaign.Run{No: f.Run, Campaign: f.Campaign}.ID()
			}
			facts = append(facts, fact)
		}
	}
	return facts, nil
}

// writeFirings writes both tables; that of past firings only if there are any.
func (p *program) writeFirings(next, past []firingFacts) error {
	var rows [][]string
	for _, f := range next {
		rows = append(rows, []string{f.Campaign, f.Local, f.Schedule, f.Timezone, f.File})
	}
	if err := writeTable(p.stdout, []string{"CAMPAIGN", "NEXT", "SCHEDULE", "ZONE", "FILE"}, rows); err != nil || len(past) == 0 {
		return err
	}
	rows = nil
	for _, f := range past {
		why := f.Detail
		if f.Missed > 0 {
			if why != "" {
				why += "; "
			}
			why += fmt.Sprintf("%d before it missed since %s", f.Missed, clock(f.MissedSince))
		}
		rows = append(rows, []string{f.Campaign, f.Local, f.Outcome, f.Run, printable(why)})
	}
	fmt.Fprintln(p.stdout)
	return writeTable(p.stdout, []string{"CAMPAIGN", "LAST", "OUTCOME", "RUN", "WHY"}, rows)
}
