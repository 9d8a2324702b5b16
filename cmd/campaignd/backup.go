package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/daemon"
	"campaignd/internal/sentence"
)

func (p *program) cmdBackup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy an SQLite ledger, even while messages are being sent",
		Long: `Writes the ledger as it is at one moment to a new file, which only you may read: it has phone numbers. A copy made by
other means while messages are sent may be damaged. What is sent after the moment is not in the copy, so a restored copy must be
quarantined before anything is sent from it: campaignd ledger quarantine. A PostgreSQL ledger is backed up by its own tools.`,
		Example: "  campaignd backup campaignd-backup.db",
		Args:    command.OneArgument("FILE", "campaignd-backup.db"),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		if err := daemon.CanBackUp(c); err != nil {
			return command.Invalid(err)
		}
		if err := ledgerExists(c); err != nil {
			return err
		}
		if err := daemon.Backup(cmd.Context(), c, args[0], p.log(c, true)); err != nil {
			return command.Unwritable(args[0], err)
		}
		_, err = fmt.Fprintf(p.Stdout, "%s is a copy of %s\n", sentence.Printable(args[0]), sentence.Printable(c.LedgerFile()))
		return err
	}
	return cmd
}
