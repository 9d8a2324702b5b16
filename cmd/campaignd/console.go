package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"campaignd/internal/client"
	"campaignd/internal/command"
	"campaignd/internal/config"
	"campaignd/internal/operator"
)

func (p *program) cmdConsole() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the console of a running serve in the browser",
		Long: `Opens the pages of the admin listener, signed in as the user of this machine. The link works once and expires after
a minute. Others sign in at the address of the admin listener with a key from ` + "`campaignd keys create`" + `.`,
		Example: "  campaignd console\n  campaignd console --print",
		Args:    command.NoArguments,
	}
	link := cmd.Flags().Bool("print", false, "print the link instead of opening the browser")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withLedgerSession(cmd.Context(), command.ToChange, func(d *local) error {
			c, err := p.load()
			if err != nil {
				return err
			}
			at, err := consoleAddress(c)
			if err != nil {
				return err
			}
			return p.openConsole(cmd.Context(), d.Session, at, *link)
		})
	}
	return cmd
}

// consoleAddress is the address of the admin listener that has the console.
func consoleAddress(c *config.Config) (string, error) {
	if !c.Console.Enabled {
		return "", command.Invalid(errors.New("console.enabled is false: the admin listener has no pages"))
	}
	if c.SharedLedger() {
		scheme := "http://"
		if c.Listen.AdminTLS != (config.TLS{}) {
			scheme = "https://"
		}
		return scheme + c.Listen.Admin, nil
	}
	access, err := client.ReadAccess(c.AccessFile())
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("no `campaignd serve` has the ledger %s; start one, and try again", c.LedgerFile())
	}
	return access.URL, err
}

// openConsole opens the browser at the console, or prints the link to it.
func (p *program) openConsole(ctx context.Context, d *operator.Session, at string, toPrint bool) error {
	token, err := d.ConsoleToken(ctx)
	if err != nil {
		return err
	}
	link := at + "/console/enter?token=" + token
	if !toPrint && openBrowser(ctx, link) == nil {
		fmt.Fprintf(p.Stderr, "the console of %s opens in the browser; if none does, `campaignd console --print` prints a link\n", at)
		return nil
	}
	fmt.Fprintln(p.Stdout, link)
	return nil
}

// openBrowser opens a link through a file that only this user can read: the arguments of a process
// are no secret on its machine.
func openBrowser(ctx context.Context, link string) error {
	open := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if open == nil {
		open = []string{"xdg-open"}
	}
	if _, err := exec.LookPath(open[0]); err != nil {
		return err
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(dir, "campaignd-console.html")
	page := `<!doctype html><meta http-equiv="refresh" content="0;url=` + html.EscapeString(link) + `"><title>campaignd</title>`
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		return err
	}
	return exec.CommandContext(ctx, open[0], append(open[1:], path)...).Run() //nolint:gosec // a program of the list above
}
