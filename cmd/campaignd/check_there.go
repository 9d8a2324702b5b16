package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"campaignd/campaign"
	"campaignd/campaign/launch"
	"campaignd/internal/client"
	"campaignd/internal/command"
)

// checkThere uploads the campaign and the list to another campaignd, which runs the preflight.
func (p *program) checkThere(ctx context.Context, far *client.Client, file string, f checkFlags) (*launch.Preflight, error) {
	for _, local := range []struct {
		flag  string
		given bool
	}{{"--offline", f.offline}, {"--rejects", f.rejects != ""}} {
		if local.given {
			return nil, command.Invalid(fmt.Errorf("%s works on this machine only: give neither --server nor %s with it",
				local.flag, command.ServerVariable))
		}
	}
	r := client.Launch{Campaign: file, List: f.list}
	if err := p.resolveLaunch(&r); err != nil {
		return nil, err
	}
	found, err := far.Check(ctx, r)
	if err != nil {
		return nil, command.RequestError(err)
	}
	found.List, found.Duration = r.List, time.Duration(found.Seconds*float64(time.Second))
	if f.examples == 0 {
		shown := map[campaign.SkipReason]int{}
		found.Examples = slices.DeleteFunc(found.Examples, func(r campaign.Reject) bool {
			shown[r.Reason]++
			return shown[r.Reason] > launch.FewExamples
		})
	}
	return found, nil
}
