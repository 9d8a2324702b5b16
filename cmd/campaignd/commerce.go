package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/commerce"
	"campaignd/internal/daemon"
	"campaignd/internal/doctor"
	"campaignd/internal/messaging"
)

func (p *program) cmdCommerce() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "commerce",
		Short: "Connect the commerce platform, check that it answers, and list an audience",
		Long: `The commerce platform (commerce in the configuration) holds the customers and orders of a company. A company's own
programs use an API key; an application that the company installs gets a token through ` + "`connect`" + `.`,
	}, p.cmdCommerceConnect(), p.cmdCommerceStatus(), p.cmdCommerceAudience())
}

func (p *program) cmdCommerceStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Check whether the platform accepts the configured key",
		Long: `Requests the company, one payment and the newest orders from the platform, and changes nothing. The exit code is 0 if all
of them arrive, and 1 otherwise; the sentence then names the remedy.`,
		Example: "  campaignd commerce status\n  campaignd commerce status -o json",
		Args:    command.NoArguments,
	}
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		s := doctor.AskCommerce(cmd.Context(), c)
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if o.JSON() {
			err = command.WriteJSON(p.Stdout, s)
		} else {
			_, err = fmt.Fprintln(p.Stdout, statusLine(s))
		}
		if err == nil && s.Code != "" {
			return command.Silent(command.ExitFailed)
		}
		return err
	}
	return cmd
}

// statusLine is a status in one line, and a second one if the orders cannot be read.
func statusLine(s doctor.CommerceStatus) string {
	switch {
	case s.Connected && s.Orders != "":
		return fmt.Sprintf("%s\n%s: %s", s.Sentence, s.Orders, s.Remedy)
	case s.Connected:
		return s.Sentence
	}
	return fmt.Sprintf("%s: %s (%s)", s.Sentence, s.Remedy, s.Code)
}

func (p *program) cmdCommerceConnect() *cobra.Command {
	var listen string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "connect REDIRECT_URI",
		Short: "Wait for an installation of the application and store its token",
		Long: `Listens on listen.public for the path of REDIRECT_URI, the address registered at the platform for the application.
When a company installs the application, the platform calls that address. campaignd verifies the callback's hmac,
time (within 5 minutes) and company, then exchanges its code for the access token. The token is written to a file
that only its owner can read: commerce.token in data_dir, or next to the SQLite ledger.

A running serve uses the same listener: stop it first, or give --listen another address that a proxy maps the path to. An
invalid callback is refused and the command keeps waiting. If the platform refuses a code, the command fails.`,
		Example: `  campaignd commerce connect https://hooks.example/commerce/callback
  campaignd commerce connect https://hooks.example/commerce/callback --listen 127.0.0.1:8085 --wait 1h`,
		Args: command.OneArgument("REDIRECT_URI", "https://hooks.example/commerce/callback"),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "HOST:PORT of the listener (default: listen.public)")
	cmd.Flags().DurationVar(&wait, "wait", 15*time.Minute, "how long to wait for a callback")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		if wait <= 0 {
			return command.Invalid(fmt.Errorf("--wait %v: want more than 0", wait))
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		err = daemon.ConnectCommerce(ctx, c, daemon.Connection{RedirectURI: args[0], Listen: listen, Log: p.log(c, true),
			Started: func(url string) {
				fmt.Fprintf(p.Stderr, "waiting at %s until the company %s installs the application\n", url, c.Commerce.Company)
			},
			Refused: func(err error) { fmt.Fprintf(p.Stderr, "a callback was refused: %v\n", err) }})
		var refused *commerce.Error
		switch {
		case cmd.Context().Err() != nil:
			return cmd.Context().Err()
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
			return fmt.Errorf("no callback came within %v: install the application at the platform, or give --wait", wait)
		case errors.As(err, &refused):
			return fmt.Errorf("%w: %s", err, cmp.Or(messaging.Untrusted(err), refused.Code.Remedy()))
		case err != nil:
			return err
		}
		_, err = fmt.Fprintf(p.Stdout, "the company %s is connected; its token is in %s\n", c.Commerce.Company, c.CommerceToken())
		return err
	}
	return cmd
}
