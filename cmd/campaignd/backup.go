package main

import (
	"errors"
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
quarantined before anything is sent from it: campaignd ledger quarantine. - writes the copy to standard output when it is
whole; until then it needs the space in the temporary folder. A PostgreSQL ledger is backed up by its own tools.`,
		Example: "  campaignd backup campaignd-backup.db\n  campaignd backup - > campaignd-backup.db",
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
		if args[0] == "-" {
			if command.IsTerminal(p.Stdout) {
				return command.Invalid(errors.New("the copy is no text for a terminal: name a file, or redirect standard output"))
			}
			return daemon.BackupTo(cmd.Context(), c, p.Stdout, p.log(c, true))
		}
		if err := daemon.Backup(cmd.Context(), c, args[0], p.log(c, true)); err != nil {
			return command.Unwritable(args[0], err)
		}
		_, err = fmt.Fprintf(p.Stdout, "%s is a copy of %s\n", sentence.Printable(args[0]), sentence.Printable(c.LedgerFile()))
		return err
	}
	return cmd
}
