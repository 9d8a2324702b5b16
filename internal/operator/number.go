package operator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/why"
	"campaignd/internal/client/resource"
)

// NumbersOf returns the connections that a session may see, with their limits now.
func (p *Process) NumbersOf(ctx context.Context, d *Session) ([]resource.Number, error) {
	all, err := p.Numbers(ctx)
	out := []resource.Number{}
	for _, n := range all {
		if d.Company == "" || n.Company == d.Company {
			out = append(out, n)
		}
	}
	return out, err
}

// WhyNumber says what limits a connection now, over all runs that are not finished. The error is
// ErrAbsent if the connection is neither configured nor one of a recent run, or if connection is
// the id of a run.
func (d *Session) WhyNumber(ctx context.Context, connection string) (why.Number, error) {
	return d.WhyNumberFrom(ctx, connection, func(run string) (why.Answer, error) { return d.Why(ctx, run) })
}

// WhyNumberFrom is WhyNumber with answers of Why that explain returns for the id of a run.
func (d *Session) WhyNumberFrom(ctx context.Context, connection string, explain func(run string) (why.Answer, error)) (
	why.Number, error,
) {
	absent := fmt.Errorf("%w: %q is no connection of the configuration or of a run", ErrAbsent, connection)
	configured := d.Configured != nil && d.Configured(connection)
	if _, err := campaign.ParseRunID(connection); !configured && (err == nil || connection == "latest") {
		return why.Number{}, absent
	}
	if d.Company != "" && !d.ofCompany(d.Origins(ctx, nil), []string{connection}) {
		return why.Number{}, absent
	}
	runs, err := d.runsOver(ctx, connection, campaign.RunFilter{Unfinished: true})
	if err != nil {
		return why.Number{}, err
	}
	if len(runs) == 0 && !configured {
		ended, err := d.runsOver(ctx, connection, campaign.RunFilter{Limit: 100})
		if err != nil {
			return why.Number{}, err
		}
		if len(ended) == 0 {
			return why.Number{}, absent
		}
	}
	h, err := d.whyHolds(ctx)
	if err != nil {
		return why.Number{}, err
	}
	answers := make([]why.Answer, len(runs))
	for i, r := range runs {
		if answers[i], err = explain(r.ID()); err != nil {
			return why.Number{}, err
		}
	}
	return why.ExplainNumber(connection, answers, h, time.Now()), nil
}

// runsOver are the runs of the filter that are sent over a connection.
func (d *Session) runsOver(ctx context.Context, connection string, f campaign.RunFilter) (over []campaign.Run, err error) {
	stored, err := d.Ledger.Runs(ctx, f)
	for _, r := range stored {
		def, err := file.ParseStored(r.ID(), r.Definition)
		if err == nil && slices.Contains(def.Connections, connection) && d.sees(ctx, r) {
			over = append(over, r)
		}
	}
	return over, err
}
