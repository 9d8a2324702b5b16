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
	"campaignd": runCampaignd,
	"replica":   runReplica,
	"import":    runImport,
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

// sample is what a child has used and sent so far.
type sample struct {
	CPU   time.Duration
	Peak  int64 // the most memory since its start, in bytes
	Posts int64
}

// sampled is the life of a child that sends: its first answer is its webhook address, and each
// later one is a sample, until its input ends.
func sampled(in *json.Decoder, out *json.Encoder, url string, posts func() (int64, error)) error {
	if err := out.Encode(url); err != nil {
		return err
	}
	for in.Decode(&struct{}{}) == nil {
		s := sample{CPU: cpu(), Peak: peak()}
		var err error
		if s.Posts, err = posts(); err != nil {
			return err
		}
		if err := out.Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// start starts a child and writes its job.
func (b *bench) start(role string, job any) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(b.ctx, b.deadline)
	c := &child{role: role, cmd: exec.CommandContext(ctx, self, role), stop: stop}
	c.cmd.Stderr, c.cmd.WaitDelay = b.log, 5*time.Second
	in, err1 := c.cmd.StdinPipe()
	out, err2 := c.cmd.StdoutPipe()
	if err = errors.Join(err1, err2); err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		stop()
		return nil, err
	}
	c.in, c.out = in, json.NewDecoder(out)
	if err := json.NewEncoder(c.in).Encode(job); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", role, err), c.end())
	}
	return c, nil
}

// once runs a child that gives one answer to its job.
func (b *bench) once(role string, job, answer any) error {
	c, err := b.start(role, job)
	if err != nil {
		return err
	}
	return errors.Join(c.receive(answer), c.end())
}

// receive waits for the child's next answer.
func (c *child) receive(v any) error {
	if err := c.out.Decode(v); err != nil {
		return fmt.Errorf("%s gave no answer within its deadline: %w", c.role, err)
	}
	return nil
}

// sample asks a child that sends for a sample.
func (c *child) sample() (s sample, err error) {
	if err := json.NewEncoder(c.in).Encode(struct{}{}); err != nil {
		return s, err
	}
	return s, c.receive(&s)
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
