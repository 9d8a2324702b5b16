package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign/reception"
	"campaignd/campaign/wording"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/doctor"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
)

func (p *program) cmdWebhooksTest() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Post a signed event to the endpoint, once with each configured secret",
		Long: `Posts a harmless event to every registered endpoint that ends with webhooks.path, or to --url, signed with each secret of
webhooks.secrets in turn. It goes the way of the service's events, through DNS, certificate and proxy, as seen from this
machine. This proves the way in, and that the intake has this secret; it does not prove that the service signs with it. Events of
the service that were refused for their signature are in the ledger: then the exit code is 1, and so it is if an event is not
taken.`,
		Example: "  campaignd webhooks test\n  campaignd webhooks test --url http://127.0.0.1:8080/webhooks/messaging -o json",
		Args:    command.NoArguments,
	}
	cmd.Flags().StringVar(&address, "url", "", "address to post to (default: the registered ones)")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if address != "" {
			c, err := p.load()
			if err != nil {
				return err
			}
			return p.testEndpoints(cmd.Context(), c, []string{address}, o)
		}
		return p.withService(func(cfg *config.Config, c *service.Client) error {
			all, err := c.Webhooks(cmd.Context())
			if err != nil {
				return err
			}
			own := doctor.OwnEndpoints(cfg, all)
			if len(own) == 0 {
				return fmt.Errorf("no registered endpoint ends with %s (webhooks.path): register one, or give --url", cfg.Webhooks.Path)
			}
			return p.testEndpoints(cmd.Context(), cfg, own, o)
		})
	}
	return cmd
}

func (p *program) testEndpoints(ctx context.Context, c *config.Config, addresses []string, o *command.Output) error {
	tests, err := doctor.TestEndpoints(ctx, c, addresses)
	if err != nil {
		return err
	}
	heads := []string{"RESULT", "URL", "SECRET", "ANSWER"}
	if err := command.WriteList(&p.Program, o, heads, tests, func(t doctor.EndpointTest) []string {
		result := "taken"
		if !t.Taken {
			result = "not taken"
		}
		return []string{result, t.URL, fmt.Sprintf("webhooks.secrets[%d]", t.Secret), t.Answer}
	}); err != nil {
		return err
	}
	fmt.Fprintln(p.Stderr, "this proves the way in and our own secrets, not that the service signs with one of them")
	for _, t := range tests {
		if said := t.Another + t.Unknown; said != "" {
			fmt.Fprintf(p.Stderr, "campaignd: %s\n", sentence.Printable(said))
		}
	}
	refused, err := p.sayRefused(ctx, c)
	if err == nil && refused {
		return command.Silent(command.ExitFailed)
	}
	if err == nil && slices.ContainsFunc(tests, func(t doctor.EndpointTest) bool { return !t.Taken || t.Another != "" }) {
		return command.Silent(command.ExitFailed)
	}
	return err
}

// sayRefused says which events are refused for their signature, and when the last one was verified.
func (p *program) sayRefused(ctx context.Context, c *config.Config) (refused bool, err error) {
	s, known, err := doctor.Signatures(ctx, c)
	if err != nil || !known {
		return false, err
	}
	text, _ := wording.Refused(s, time.Now())
	switch last := s.LastVerified(); {
	case text != "":
		fmt.Fprintf(p.Stderr, "campaignd: %s\n", sentence.Printable(text))
	case last.IsZero():
		fmt.Fprintln(p.Stderr, "no event has been verified yet, or the first came less than a minute ago")
	default:
		fmt.Fprintf(p.Stderr, "the last event was verified at %s\n", command.Clock(last))
	}
	return text != "", nil
}

func (p *program) cmdWebhooksReplay() *cobra.Command {
	var since, until string
	var end bool
	cmd := &cobra.Command{
		Use:   "replay --since TIME | --end",
		Short: "Ask the service to post past events again",
		Long: `Asks the service to post the events of a time again, to the endpoints whose address has the path webhooks.path; to every endpoint
of the key if there is none, or if the service cannot replay one. Events that were taken before change nothing.
TIME is of RFC 3339, or a duration before now such as 6h. serve asks by itself after webhooks were not taken for longer than
two minutes. A service without this operation answers 404; it repeats each delivery for 8 h 36 min, and older events come only
by its dashboard or support.

After a quarantine, ` + "`resume`" + ` waits until as many deliveries have come as the service said it posts again, or for the run's
doubt window if some are not countable. --end says that no more come, for example because the service also counted those
of another endpoint.`,
		Example: "  campaignd webhooks replay --since 6h\n  campaignd webhooks replay --since 2026-03-02T09:00:00Z --until 2026-03-02T12:00:00Z",
		Args:    command.NoArguments,
	}
	cmd.Flags().StringVar(&since, "since", "", "from when on: a time of RFC 3339, or a duration before now")
	cmd.Flags().StringVar(&until, "until", "", "until when (default: now)")
	cmd.Flags().BoolVar(&end, "end", false, "wait for no more deliveries of a replay")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		now := time.Now()
		if end {
			return p.endReplay(cmd.Context(), since+until, o)
		}
		if since == "" {
			return command.Invalid(errors.New("--since is missing: give a time such as 2026-03-02T09:00:00Z, or a duration such as 6h"))
		}
		from, err := instant("--since", since, now)
		if err != nil {
			return err
		}
		to := now
		if until != "" {
			if to, err = instant("--until", until, now); err != nil {
				return err
			}
		}
		if !from.Before(to) {
			return command.Invalid(fmt.Errorf("--since %s is not before --until", since))
		}
		return p.withService(func(config *config.Config, c *service.Client) error {
			span, log := reception.Span{Since: from, Until: to}, p.log(config, true)
			if err := daemon.NoteReplay(cmd.Context(), config, span, time.Time{}, 0, log); err != nil {
				return err
			}
			n, err := c.Replay(cmd.Context(), config.Webhooks.Path, from, to)
			if errors.Is(err, messaging.ErrNotOffered) {
				return fmt.Errorf("the service offers no replay; ask for it in its dashboard or by its support: %w", err)
			}
			if err != nil {
				return err
			}
			if err := daemon.NoteReplay(cmd.Context(), config, span, time.Now(), n, log); err != nil {
				return fmt.Errorf("the service posts %d deliveries again, but the ledger does not know it, "+
					"so unknown rows stay refused after a quarantine: %w", n, err)
			}
			return p.Say(o, map[string]any{"since": from.UTC(), "until": to.UTC(), "deliveries": n},
				fmt.Sprintf("the service posts %d deliveries again, of %s to %s", n, command.Clock(from), command.Clock(to)))
		})
	}
	return cmd
}

// endReplay lets runs go on although deliveries of a replay have not come.
func (p *program) endReplay(ctx context.Context, times string, o *command.Output) error {
	if times != "" {
		return command.Invalid(errors.New("--end asks for no events: give it alone"))
	}
	c, err := p.load()
	if err != nil {
		return err
	}
	missing, err := daemon.EndReplay(ctx, c, p.log(c, true))
	if err != nil {
		return err
	}
	return p.Say(o, map[string]any{"missing": missing}, fmt.Sprintf("no run waits for the %s of the replay that did not come",
		sentence.Count(missing, "delivery", "deliveries")))
}

// instant reads a time of RFC 3339, or a duration before now.
func instant(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, command.Invalid(fmt.Errorf("%s %q: want a time such as 2026-03-02T09:00:00Z, or a duration such as 6h", flag, text))
	}
	return at, nil
}
