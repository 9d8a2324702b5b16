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
	"campaignd/internal/client/resource"
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

// sampleThere has another campaignd make the sample of a row.
func (p *program) sampleThere(ctx context.Context, far *client.Client, in launch.SampleInput) (*launch.Sample, error) {
	r := client.Launch{Campaign: in.File, List: in.List}
	if err := p.resolveLaunch(&r); err != nil {
		return nil, err
	}
	s, err := far.Preview(ctx, r, in.Row)
	return s, command.RequestError(err)
}

// testThere has another campaignd send a test message.
func (p *program) testThere(
	ctx context.Context, far *client.Client, in launch.SampleInput, to string,
) (sent resource.TestMessage, err error) {
	r := client.Launch{Campaign: in.File, List: in.List}
	if err := p.resolveLaunch(&r); err != nil {
		return sent, err
	}
	sent, err = far.SendTest(ctx, r, in.Row, to)
	return sent, command.RequestError(err)
}
