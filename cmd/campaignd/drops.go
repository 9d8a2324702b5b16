package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
)

// dropFacts is one file of a watched place in JSON. A waiting file has no number and no times but Since.
type dropFacts struct {
	File     int64  `json:"file,omitempty"`
	Bucket   string `json:"bucket"`
	Key      string `json:"key"`
	Campaign string `json:"campaign,omitempty"`
	// State is a campaign.DropState, or waiting.
	State   string    `json:"state"`
	Run     string    `json:"run,omitempty"`
	Place   string    `json:"place,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	SHA256  string    `json:"sha256,omitempty"`
	TakenAt time.Time `json:"taken_at,omitzero"`
	Since   time.Time `json:"since,omitzero"`
}

// mostDrops is the most taken files listed.
const mostDrops = 1000

func (p *program) cmdDrops() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use:   "drops",
		Short: "List the files that were taken from watched places, and those that wait",
		Long: `Lists what serve saw in the watched places (drops of the configuration): the files that wait there, with the reason, and
those that were taken, the newest first: claimed (being read and launched), launched (its run sends; results follow), settled
(the last results were written), rejected (no run, with the reason), gone (removed or replaced before it was read).`,
		Example: "  campaignd drops\n  campaignd drops --last 100 -o json",
		Args:    noArguments,
	}
	cmd.Flags().IntVar(&last, "last", 20, "taken files to list, at most 1000")
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		l, _, err := p.openLedger(cmd.Context(), toRead)
		if err != nil {
			return err
		}
		defer closing(l, &err)
		waits, err := l.DropWaits(cmd.Context())
		if err != nil {
			return err
		}
		facts := []dropFacts{}
		for _, w := range waits {
			f := dropFacts{Bucket: w.Bucket, Key: w.Key, State: "waiting", Detail: w.Reason, Since: w.Since}
			if f.Key == "" {
				f.Key = w.Prefix // the place itself
			}
			facts = append(facts, f)
		}
		files, err := l.DroppedFiles(cmd.Context(), campaign.DropFilter{Limit: min(max(last, 1), mostDrops)})
		if err != nil {
			return err
		}
		for _, f := range files {
			facts = append(facts, factsOfDrop(f))
		}
		if o.json() {
			return writeJSON(p.stdout, facts)
		}
		return p.writeDrops(facts)
	}
	return cmd
}

// factsOfDrop are the facts of a file that was taken.
func factsOfDrop(f campaign.DroppedFile) dropFacts {
	facts := dropFacts{File: f.No, Bucket: f.Bucket, Key: f.Key, Campaign: f.Campaign, State: string(f.State), Place: f.Place,
		Detail: f.Detail, Bytes: f.Size, SHA256: f.Hash, TakenAt: f.TakenAt}
	if f.Run != 0 {
		facts.Run = campaign.Run{No: f.Run, Campaign: f.Campaign}.ID()
	}
	return facts
}

// writeDrops writes both tables; that of waiting files only if there are any.
func (p *program) writeDrops(all []dropFacts) error {
	var waiting, taken [][]string
	for _, f := range all {
		name := strings.TrimSuffix(f.Bucket, "/") + "/" + f.Key
		if f.State == "waiting" {
			waiting = append(waiting, []string{printable(name), clock(f.Since), printable(f.Detail)})
			continue
		}
		where := f.Place
		if f.Detail != "" {
			where = strings.TrimPrefix(where+": "+f.Detail, ": ")
		}
		taken = append(taken, []string{printable(name), clock(f.TakenAt), f.State, f.Run, printable(where)})
	}
	if len(waiting) > 0 {
		if err := writeTable(p.stdout, []string{"WAITING", "SINCE", "WHY"}, waiting); err != nil {
			return err
		}
		fmt.Fprintln(p.stdout)
	}
	return writeTable(p.stdout, []string{"FILE", "TAKEN", "STATE", "RUN", "WHERE AND WHY"}, taken)
}
