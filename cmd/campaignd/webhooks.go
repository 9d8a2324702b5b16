package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/doctor"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
)

func (p *program) cmdWebhooks() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "webhooks",
		Short: "Register, list, rotate, test and remove the endpoint for events; see deliveries, ask for a replay",
		Long: `The service posts its events (statuses, replies, template reviews) to registered endpoints, and signs them with a secret that
it shows once. These commands call the service's management operations with service.api_key.`,
	}, p.cmdWebhooksRegister(), p.cmdWebhooksList(), p.cmdWebhooksRotate(), p.cmdWebhooksRemove(), p.cmdWebhooksTest(),
		p.cmdWebhooksReplay(), p.cmdWebhooksDeliveries())
}

// withService calls do with the client of the configured service.
func (p *program) withService(do func(*config.Config, *service.Client) error) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	const empty = "service.api_key is empty: set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it"
	switch {
	case c.Service.APIKey.IsZero() && c.Cloud.Configured():
		return command.Invalid(errors.New("the Cloud API does not offer this, and " + empty))
	case c.Service.APIKey.IsZero():
		return command.Invalid(errors.New(empty))
	}
	client, err := config.NewClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	return withRemedy(c, do(c, client))
}

// endpointFacts is one endpoint in JSON. Secret is set only in the answer to its registration.
type endpointFacts struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Events []string `json:"events"`
	Secret string   `json:"secret,omitempty"`
}

func factsOfEndpoint(w service.Webhook) endpointFacts {
	f := endpointFacts{ID: w.ID, URL: w.URL, Events: w.Events, Secret: w.Secret.Reveal()}
	if f.Events == nil {
		f.Events = []string{}
	}
	return f
}

// secretFile adds the flag --secret-file.
func secretFile(cmd *cobra.Command) *string {
	return cmd.Flags().String("secret-file", "",
		"add the secret as a line to this file, which CAMPAIGND_WEBHOOKS_SECRETS_FILE can name, and do not print it")
}

// register registers an endpoint, shows it and keeps its secret, which nobody can read again.
func (p *program) register(ctx context.Context, cfg *config.Config, c *service.Client, url string, events []string, file string,
	json bool) error {
	if file == "-" {
		return command.Invalid(errors.New("--secret-file -: without --secret-file the secret is printed; name a file"))
	}
	if file != "" { // an endpoint whose secret cannot be kept would have to be removed
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return command.Unwritable(file, fmt.Errorf("--secret-file: %w", err))
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	w, err := c.RegisterWebhook(ctx, url, events)
	if err != nil {
		return err
	}
	if w.Secret.IsZero() {
		return fmt.Errorf("the service registered %s as %s and gave no secret: look for it in its dashboard", w.URL, w.ID)
	}
	if err := daemon.NoteEndpoint(ctx, cfg, w, p.log(cfg, true)); err != nil {
		fmt.Fprintf(p.Stderr, "warning: the ledger does not know which secret belongs to %s: %v\n", sentence.Printable(w.ID), err)
	}
	facts := factsOfEndpoint(w)
	if file != "" {
		if err := config.KeepSecret(file, w.Secret); err != nil {
			return fmt.Errorf("%s is registered, and its secret could not be kept, so remove it with `campaignd webhooks remove %[1]s`: %w",
				w.ID, err)
		}
		facts.Secret = ""
	}
	if json {
		return command.WriteJSON(p.Stdout, facts)
	}
	fmt.Fprintf(p.Stderr, "endpoint %s posts to %s\n", sentence.Printable(w.ID), sentence.Printable(w.URL))
	if file != "" {
		fmt.Fprintf(p.Stderr, "its secret is the last line of %s\n", file)
		return nil
	}
	_, err = fmt.Fprintln(p.Stdout, w.Secret.Reveal())
	return err
}

// subscribe subscribes the apps of the Cloud API's accounts to their events.
func (p *program) subscribe(ctx context.Context, json bool) error {
	c, err := p.load()
	if err != nil {
		return err
	}
	if !c.Cloud.Configured() {
		return command.Invalid(errors.New("want one URL, such as https://hooks.example/webhooks/messaging; " +
			"without one the accounts of cloud.accounts are subscribed, and there is none"))
	}
	set, err := config.NewConnectors(c)
	if err != nil {
		return err
	}
	defer set.Close()
	accounts, err := set.Cloud.Subscribe(ctx)
	var e *messaging.Error
	switch {
	case errors.As(err, &e) && (e.Status == 0 || e.Status == http.StatusUnauthorized):
		err = withCloudRemedy(c, err, e)
	case err != nil:
		err = fmt.Errorf("%w; check the id in cloud.accounts, and that its token may manage that account", err)
	}
	if json && len(accounts) > 0 {
		return errors.Join(err, command.WriteJSON(p.Stdout, map[string][]string{"accounts": accounts}))
	}
	for _, id := range accounts {
		fmt.Fprintf(p.Stdout, "account %s posts its events to the URL of its app\n", id)
	}
	return err
}

func (p *program) cmdWebhooksRegister() *cobra.Command {
	var events []string
	cmd := &cobra.Command{
		Use:   "register [URL]",
		Short: "Register an HTTPS endpoint and print its signing secret once",
		Long: `Registers the public address of this campaignd: listen.public with webhooks.path, over HTTPS. The service shows the
signing secret once. It is printed on standard output, or added to --secret-file; it belongs to webhooks.secrets.

Without URL it subscribes the app of each account of cloud.accounts to the account's events. They go to the URL that the app has in
its dashboard, which gets this address and the verify token.`,
		Example: `  campaignd webhooks register https://hooks.example/webhooks/messaging
  campaignd webhooks register
  campaignd webhooks register https://hooks.example/webhooks/messaging --secret-file secrets.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return command.OneArgument("URL", "https://hooks.example/webhooks/messaging")(cmd, args)
		},
	}
	cmd.Flags().StringSliceVar(&events, "event", nil, "type of events that it gets, such as message.status; may be repeated (default: all)")
	file := secretFile(cmd)
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return p.subscribe(cmd.Context(), o.JSON())
		}
		if c, err := p.load(); err == nil && c.Service.APIKey.IsZero() && c.Cloud.Configured() {
			return command.Invalid(errors.New("the URL for the events of the Cloud API is set in the dashboard of the app: give none here, " +
				"and the accounts are subscribed"))
		}
		return p.withService(func(cfg *config.Config, c *service.Client) error {
			return p.register(cmd.Context(), cfg, c, args[0], events, *file, o.JSON())
		})
	}
	return cmd
}

func (p *program) cmdWebhooksList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the registered endpoints, without their secrets",
		Example: "  campaignd webhooks list\n  campaignd webhooks list -o json",
		Args:    command.NoArguments,
	}
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withService(func(_ *config.Config, c *service.Client) error {
			all, err := c.Webhooks(cmd.Context())
			if err != nil {
				return err
			}
			facts, rows := []endpointFacts{}, [][]string{}
			for _, w := range all {
				facts = append(facts, factsOfEndpoint(w))
				events := cmp.Or(strings.Join(w.Events, ", "), "all")
				rows = append(rows, []string{sentence.Printable(w.ID), sentence.Printable(w.URL), sentence.Printable(events)})
			}
			if o.JSON() {
				return command.WriteJSON(p.Stdout, facts)
			}
			return command.WriteTable(p.Stdout, []string{"ENDPOINT", "URL", "EVENTS"}, rows)
		})
	}
	return cmd
}

// endpointOf finds a registered endpoint, and returns all of them too.
func endpointOf(ctx context.Context, c *service.Client, id string) (w service.Webhook, all []service.Webhook, err error) {
	if all, err = c.Webhooks(ctx); err != nil {
		return w, nil, err
	}
	i := slices.IndexFunc(all, func(w service.Webhook) bool { return w.ID == id })
	if i < 0 {
		return w, nil, command.Invalid(fmt.Errorf("no endpoint %q is registered; `campaignd webhooks list` lists them", id))
	}
	return all[i], all, nil
}

func (p *program) cmdWebhooksRotate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rotate ENDPOINT",
		Short: "Rotate the signing secret without a gap",
		Long: `Registers the address of ENDPOINT once more, which gives a second endpoint with another secret, and prints that secret once.
Until the first one is removed the service posts every event twice, signed with either secret. That changes nothing in the
ledger, and no event is lost whichever secret a process knows:

  1. add the new secret to webhooks.secrets and keep the old one: processes take it from the configuration file and from
     secret files within seconds; restart those that have it in a variable
  2. campaignd webhooks test: both secrets are taken, and no event is refused (within a minute after the first event)
  3. campaignd webhooks remove ENDPOINT
  4. remove the old secret from webhooks.secrets at the earliest 9 hours later: the service repeats deliveries of the
     removed endpoint for up to 8 h 36 min`,
		Example: "  campaignd webhooks rotate whk_1\n  campaignd webhooks rotate whk_1 --secret-file secrets.txt",
		Args:    command.OneArgument("ENDPOINT", "whk_1"),
	}
	file := secretFile(cmd)
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withService(func(cfg *config.Config, c *service.Client) error {
			old, _, err := endpointOf(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if err := p.register(cmd.Context(), cfg, c, old.URL, old.Events, *file, o.JSON()); err != nil {
				return err
			}
			fmt.Fprintf(p.Stderr, "next: add it to webhooks.secrets beside the old one, "+
				"`campaignd webhooks test`, and `campaignd webhooks remove %s`\n", sentence.Printable(old.ID))
			_, err = p.sayRefused(cmd.Context(), cfg)
			return err
		})
	}
	return cmd
}

func (p *program) cmdWebhooksRemove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "remove ENDPOINT",
		Short: "Remove an endpoint: the service stops posting to it",
		Long: `Removes an endpoint. It refuses one that may be the only one whose events are verified: without it neither statuses nor
opt-outs are seen. During a rotation it waits for an event that the other secret verified. --force removes it all the same.`,
		Example: "  campaignd webhooks remove whk_1",
		Args:    command.OneArgument("ENDPOINT", "whk_1"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "remove it although it may be the only one whose events are verified")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withService(func(cfg *config.Config, c *service.Client) error {
			w, all, err := endpointOf(cmd.Context(), c, args[0])
			if err != nil {
				return err
			}
			if !force {
				switch last, err := doctor.RemovesTheLast(cmd.Context(), cfg, w, all); {
				case err != nil:
					return fmt.Errorf("whether another endpoint works is in the ledger, and --force removes %s without it: %w", w.ID, err)
				case last:
					return fmt.Errorf("%s may be the only endpoint whose events are verified; try again a minute after an event of another "+
						"one was (`campaignd webhooks test`), or give --force", sentence.Printable(w.ID))
				}
			}
			if err := c.DeleteWebhook(cmd.Context(), w.ID); err != nil {
				return err
			}
			return p.Say(o, factsOfEndpoint(w), fmt.Sprintf("endpoint %s is removed", sentence.Printable(w.ID)))
		})
	}
	return cmd
}
