package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"campaignd/campaign/template"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/daemon"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/operator"
)

func (p *program) cmdTemplates() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "templates",
		Short: "Keep the templates of an account in files: list, show, push, diff, sync, wait",
		Long: `A template file has one template in one language: templates/NAME.LANGUAGE.yaml. push creates and edits at the service what
differs from the files, and diff shows it; wait waits for the platform's review. These commands call the service's management
operations with service.api_key, or the Cloud API with the token of the account.`,
	}, p.cmdTemplatesList(), p.cmdTemplatesShow(), p.cmdTemplatesPush(), p.cmdTemplatesDiff(), p.cmdTemplatesSync(),
		p.cmdTemplatesWait())
}

// account is a business account at the service.
type account = operator.Account

// withConnectors calls do with the connectors of the configuration.
func (p *program) withConnectors(do func(*config.Config, *connector.Set) error) error {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	c, err := config.NewConnectors(cfg)
	if errors.Is(err, connector.ErrNone) {
		return command.Invalid(fmt.Errorf("%w: set CAMPAIGND_SERVICE_API_KEY, or CAMPAIGND_SERVICE_API_KEY_FILE to the file that holds it, "+
			"or give cloud.accounts", err))
	}
	if err != nil {
		return err
	}
	defer c.Close()
	return withRemedy(cfg, do(cfg, c))
}

// withAccount calls do with the account of a connection. Without a connection there must be one
// account only.
func (p *program) withAccount(ctx context.Context, connection string, do func(*config.Config, *connector.Set, account) error) error {
	return p.withConnectors(func(cfg *config.Config, c *connector.Set) error {
		known, err := c.Connections(ctx)
		if err != nil {
			return fmt.Errorf("ask the service for its connections: %w", err)
		}
		a, err := operator.ChooseAccount(known, connection)
		if err != nil {
			return command.Invalid(err)
		}
		return do(cfg, c, a)
	})
}

// withListings makes the client of the Cloud API use the listings that the ledger keeps, so that a
// change of a template drops them. drops means that it only drops them. Without the ledger nothing
// is dropped, and senders use a listing until it is 10 minutes old.
func (p *program) withListings(ctx context.Context, cfg *config.Config, c *connector.Set, drops bool, do func() error) (err error) {
	if c.Cloud == nil || cfg.NoLedger() {
		return do()
	}
	l, err := daemon.OpenLedger(ctx, cfg, false, p.log(cfg, true))
	if err != nil {
		fmt.Fprintf(p.Stderr, "warning: senders use the listing of templates that the ledger keeps for up to 10 minutes: %v\n", err)
		return do()
	}
	defer command.Leaving(l, p.Stderr)
	daemon.ShareListings(cfg, c, l, drops)
	return do()
}

// accountService are the requests about an account that another campaignd answers too.
type accountService interface {
	Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error)
	SyncTemplates(ctx context.Context, connection string) (service.TemplateSync, error)
}

// withTemplates calls do with the service and a connection of the account, or with the other
// campaignd of --server and the connection as it was given. kept means that the listings of the
// ledger are used.
func (p *program) withTemplates(ctx context.Context, connection string, kept bool,
	do func(s accountService, connection string) error) error {
	far, err := p.Remote()
	if err != nil {
		return err
	}
	if far != nil {
		return command.RequestError(do(far, connection))
	}
	return p.withAccount(ctx, connection, func(cfg *config.Config, c *connector.Set, a account) error {
		if !kept {
			return do(c, a.Connection)
		}
		return p.withListings(ctx, cfg, c, false, func() error { return do(c, a.Connection) })
	})
}

// connectionFlag gives a command --connection.
func connectionFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("connection", "", "a connection of the account (default: the key's only account)")
}

// notFound marks the error of a template that the service does not list as invalid input.
func notFound(err error) error {
	if missing := (*template.NotFoundError)(nil); errors.As(err, &missing) {
		return command.Invalid(err)
	}
	return err
}

func (p *program) cmdTemplatesList() *cobra.Command {
	var library bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the templates of an account, or of the platform's library",
		Example: `  campaignd templates list
  campaignd templates list --connection conn_1 -o json
  campaignd templates list --library`,
		Args: command.NoArguments,
	}
	connection := connectionFlag(cmd)
	cmd.Flags().BoolVar(&library, "library", false, "list the library, whose names libraryName of a template file takes")
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		show := func(all []messaging.TemplateRecord, err error) error {
			if err != nil {
				return err
			}
			return p.writeTemplates(o, all)
		}
		if library && cmp.Or(p.Server, p.Environment[command.ServerVariable]) != "" {
			return command.Invalid(fmt.Errorf("--library asks the service from this machine; leave out --server and %s", command.ServerVariable))
		}
		if library {
			return p.withService(func(_ *config.Config, c *service.Client) error { return show(c.TemplateLibrary(cmd.Context(), "")) })
		}
		return p.withTemplates(cmd.Context(), *connection, false, func(s accountService, connection string) error {
			return show(s.Templates(cmd.Context(), connection))
		})
	}
	return cmd
}

func (p *program) writeTemplates(o *command.Output, all []messaging.TemplateRecord) error {
	slices.SortStableFunc(all, func(a, b messaging.TemplateRecord) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Language, b.Language))
	})
	heads := []string{"TEMPLATE", "LANGUAGE", "STATUS", "CATEGORY", "REASON"}
	return command.WriteList(&p.Program, o, heads, all, func(t messaging.TemplateRecord) []string {
		return []string{t.Name, t.Language, cmp.Or(t.Status, "-"), t.Category, t.Reason}
	})
}

func (p *program) cmdTemplatesShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a template as the service has it",
		Example: "  campaignd templates show spring_sale\n  campaignd templates show spring_sale --language en_US -o json",
		Args:    command.OneArgument("NAME", "spring_sale"),
	}
	connection, language := connectionFlag(cmd), languageFlag(cmd)
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withTemplates(cmd.Context(), *connection, false, func(s accountService, connection string) error {
			all, err := s.Templates(cmd.Context(), connection)
			if err != nil {
				return err
			}
			t, err := template.Find(all, args[0], *language)
			if err != nil {
				return notFound(err)
			}
			if o.JSON() {
				return command.WriteJSON(p.Stdout, t)
			}
			command.WriteParagraph(p.Stdout, templateLine(t))
			for _, part := range t.Components {
				command.WriteParagraph(p.Stdout, fmt.Sprintf("  %s %s", part.Type, strings.TrimSpace(part.Format+" "+part.Text)))
				for _, b := range part.Buttons {
					command.WriteParagraph(p.Stdout, strings.TrimRight(fmt.Sprintf("    %s %s %s%s", b.Type, b.Text, b.URL, b.PhoneNumber), " "))
				}
			}
			return nil
		})
	}
	return cmd
}

// languageFlag gives a command --language.
func languageFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("language", "", "language of the template, such as en_US (default: its only one)")
}

// templateLine is a template in one line.
func templateLine(t messaging.TemplateRecord) string {
	line := fmt.Sprintf("%s in %s is %s (%s)", t.Name, t.Language, t.Status, t.Category)
	if t.Reason != "" {
		line += ": " + t.Reason
	}
	return line
}

func (p *program) cmdTemplatesSync() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Make the service reload the templates of an account from the platform",
		Long: `The listing of the service can be behind the platform, where a template was changed in another program. sync brings it up to
date and prints how many templates were added, updated and removed there.`,
		Example: "  campaignd templates sync --connection conn_1\n  campaignd templates sync -o json",
		Args:    command.NoArguments,
	}
	connection := connectionFlag(cmd)
	o := command.AddOutput(cmd)
	p.AddServer(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withTemplates(cmd.Context(), *connection, true, func(s accountService, connection string) error {
			n, err := s.SyncTemplates(cmd.Context(), connection)
			if err != nil {
				return err
			}
			return p.Say(o, n, fmt.Sprintf("%d added, %d updated, %d removed", n.Added, n.Updated, n.Removed))
		})
	}
	return cmd
}

func (p *program) cmdTemplatesWait() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until the platform has reviewed a template",
		Long: `Asks the service every few seconds until the template is no longer reviewed. The exit code is 0 if it is approved, 1 if it is
rejected, paused or disabled, and 3 if the time is over first.`,
		Example: "  campaignd templates wait spring_sale\n  campaignd templates wait spring_sale --language en_US --timeout 24h -o json",
		Args:    command.OneArgument("NAME", "spring_sale"),
	}
	connection, language := connectionFlag(cmd), languageFlag(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 15*time.Minute, "how long to wait")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if timeout <= 0 {
			return command.Invalid(fmt.Errorf("--timeout %v: want more than 0", timeout))
		}
		return p.withAccount(cmd.Context(), *connection, func(_ *config.Config, c *connector.Set, a account) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			// 2 s: a review takes minutes to a day, and the listing is one request.
			t, err := template.AwaitReview(ctx, c, a.Connection, args[0], *language, 2*time.Second)
			over := errors.Is(err, context.DeadlineExceeded) && cmd.Context().Err() == nil
			switch {
			case over && t.Name == "":
				return fmt.Errorf("the service did not answer within %v; try again, or give --timeout", timeout)
			case err != nil && !over:
				return notFound(err)
			}
			switch err := p.Say(o, t, templateLine(t)); {
			case err != nil:
				return err
			case over:
				return command.Silent(command.ExitUnsure)
			case t.Status != "APPROVED":
				return command.Silent(command.ExitFailed)
			}
			return nil
		})
	}
	return cmd
}
