package main

import (
	"context"
	"errors"
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
	if f.offline {
		return nil, command.Invalid(offlineThere())
	}
	r := client.Launch{Campaign: file, List: f.list}
	if err := p.resolveLaunch(&r); err != nil {
		return nil, err
	}
	if f.rejects != "" {
		if err := rejectsThere(ctx, far, r, f.rejects); err != nil {
			return nil, err
		}
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

// offlineThere says that a command cannot be offline and ask another campaignd.
func offlineThere() error {
	return fmt.Errorf("--offline works on this machine only: give neither --server nor %s with it", command.ServerVariable)
}

// rejectsThere writes the rejected rows of a list, which another campaignd finds, into a file.
func rejectsThere(ctx context.Context, far *client.Client, r client.Launch, path string) error {
	f, err := rejectsFile(path, r.List, r.Campaign)
	if err != nil {
		return err
	}
	return errors.Join(command.RequestError(far.Rejects(ctx, r, f)), f.Close())
}

// there has another campaignd do something with a campaign and its list.
func there[T any](p *program, campaign, list string, do func(client.Launch) (T, error)) (out T, err error) {
	r := client.Launch{Campaign: campaign, List: list}
	if err := p.resolveLaunch(&r); err != nil {
		return out, err
	}
	out, err = do(r)
	return out, command.RequestError(err)
}
