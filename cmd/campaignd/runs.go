package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/daemon"
)

// runFacts is a run as `runs` shows it.
type runFacts struct {
	ID        string               `json:"id"`
	Campaign  string               `json:"campaign"`
	State     campaign.State       `json:"state"`
	Reason    campaign.PauseReason `json:"reason,omitempty"`
	Detail    string               `json:"detail,omitempty"`
	Wanted    campaign.Wanted      `json:"wanted"`
	Rows      int64                `json:"rows"`
	List      string               `json:"list"`
	FollowUp  campaign.RunNo       `json:"follow_up_of,omitempty"`
	CreatedAt time.Time            `json:"created_at,omitzero"`
	EndedAt   time.Time            `json:"ended_at,omitzero"`
	Retired   campaign.Retired     `json:"retired,omitzero"`
	Holds     []campaign.HoldState `json:"holds,omitempty"`
}

func factsOf(r campaign.Run) runFacts {
	return runFacts{
		ID: r.ID(), Campaign: r.Campaign, State: r.State, Reason: r.Reason, Detail: r.Detail, Wanted: r.Wanted, Rows: r.Rows,
		List: r.List(), FollowUp: r.Parent, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt, Retired: r.Retired,
	}
}

// stateOf returns the state with its reason, or with the wanted state that the run has not reached
// yet, for a cell of a table.
func (f runFacts) stateOf() string {
	s := string(f.State)
	if f.Reason != "" {
		s += " (" + string(f.Reason) + ")"
	}
	if !f.State.Ended() && f.Wanted != campaign.WantRun && f.Wanted != "" && f.State != campaign.Paused {
		s += ", wanted: " + string(f.Wanted)
	}
	if f.Retired.Rows > 0 {
		s += ", rows deleted"
	}
	if len(f.Holds) > 0 {
		s += ", held"
	}
	return s
}

func (p *program) cmdRuns() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "runs",
		Short:   "List the runs, newest first",
		Example: "  campaignd runs\n  campaignd runs -o json",
		Args:    noArguments,
	}
	o := addOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		l, c, err := p.openLedger(cmd.Context(), toRead)
		if err != nil {
			return err
		}
		defer closing(l, &err)
		all, err := l.Runs(cmd.Context(), campaign.RunFilter{})
		if err != nil {
			return err
		}
		holds, err := l.Holds(cmd.Context(), false)
		if err != nil {
			return err
		}
		of, now := daemon.Origins(cmd.Context(), c, holds), time.Now()
		facts := make([]runFacts, len(all))
		for i, r := range all {
			facts[i] = factsOf(r)
			facts[i].Holds = campaign.HoldStates(campaign.RunHolds(r, holds, of, now), now)
		}
		if o.json() {
			return writeJSON(p.stdout, facts)
		}
		var rows [][]string
		for _, f := range facts {
			rows = append(rows, []string{f.ID, f.stateOf(), strconv.FormatInt(f.Rows, 10), clock(f.CreatedAt), clock(f.EndedAt), f.List})
		}
		if err := writeTable(p.stdout, []string{"RUN", "STATE", "ROWS", "LAUNCHED", "ENDED", "LIST"}, rows); err != nil {
			return err
		}
		return p.writeHolds(facts)
	}
	return cmd
}

// writeHolds writes each hold of the runs once.
func (p *program) writeHolds(facts []runFacts) error {
	said := map[string]bool{}
	for _, f := range facts {
		for _, h := range f.Holds {
			if said[h.Sentence] {
				continue
			}
			if len(said) == 0 {
				fmt.Fprintln(p.stdout)
			}
			said[h.Sentence] = true
			if _, err := fmt.Fprintf(p.stdout, "held: %s\n", printable(h.Sentence)); err != nil {
				return err
			}
		}
	}
	return nil
}
