//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A child is a second process of this program with a role. It reads its job as JSON from standard
// input and writes its answers as JSON to standard output. It ends at the end of its input, so that
// no child runs longer than its parent.
type child struct {
	role string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	stop context.CancelFunc
}

// roles are the roles of a child by name.
var roles = map[string]func(ctx context.Context, job *json.Decoder, answer *json.Encoder) error{
	"sink":      runSink,
	"bare":      runBare,
	"paced":     runPaced,
	"campaignd": runCampaignd,
	"import":    runImport,
	"load":      runLoad,
	"replica":   runReplica,
	"events":    runEvents,
}

// runRole runs a role until it returns. The role's context ends with its input.
func runRole(ctx context.Context, role func(context.Context, *json.Decoder, *json.Encoder) error, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	jobs, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
		stop()
	}()
	return role(ctx, json.NewDecoder(jobs), json.NewEncoder(out))
}

// start starts a child and writes its job.
func (b *bench) start(role string, job any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(b.ctx, b.deadline)
	c := &child{role: role, cmd: exec.CommandContext(ctx, self, role), stop: stop}
	c.cmd.Stderr = b.log
	c.cmd.WaitDelay = 5 * time.Second
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		stop()
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	c.out = json.NewDecoder(out)
	if err := c.cmd.Start(); err != nil {
		stop()
		return nil, err
	}
	if err := json.NewEncoder(c.in).Encode(job); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", role, err), c.end())
	}
	return c, nil
}

// receive waits for the child's next answer.
func (c *child) receive(v any) error {
	if err := c.out.Decode(v); err != nil {
		return fmt.Errorf("%s gave no answer within its deadline: %w", c.role, err)
	}
	return nil
}

// finish asks the child to end. The child may still answer.
func (c *child) finish() error { return c.in.Close() }

// end ends the child and waits for it.
func (c *child) end() error {
	defer c.stop()
	_ = c.in.Close() // it may be closed already
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w", c.role, err)
	}
	return nil
}
