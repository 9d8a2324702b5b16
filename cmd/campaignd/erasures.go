package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"campaignd/internal/command"
	"campaignd/internal/operator"
	"campaignd/internal/sentence"
)

func (p *program) cmdLedgerErasures() *cobra.Command {
	var since, path string
	cmd := &cobra.Command{
		Use:   "erasures",
		Short: "Repeat the erasures that a restored ledger lost",
		Long: `A restored backup again has the numbers that were erased since it was made. Each erasure is therefore also noted in a file
beside an SQLite ledger, or in data_dir, as a keyed hash of the number. This command erases the numbers of that file that
were erased since the lost time began, or since --since, and nothing is sent to them from then on. Run it after
the quarantine, on each machine and in each pod that took erasures; --file names a copy of the file.

A number that was taken off the suppression list after its erasure, in the lost time, is erased again, too.
Rows in doubt keep their number; the exit code is then 3: repeat the command later.`,
		Example: `  campaignd ledger erasures --since 6h
  campaignd ledger erasures --since 2026-03-02T09:00:00Z --file pod-1.erasures`,
		Args: command.NoArguments,
	}
	cmd.Flags().StringVar(&since, "since", "", "from when on: a time of RFC 3339, or a duration before now (default: the last lost time)")
	cmd.Flags().StringVar(&path, "file", "", "file of erasures (default: that of this process's ledger and data_dir)")
	o := command.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var from time.Time
		if since != "" {
			at, err := instant("--since", since, time.Now())
			if err != nil {
				return err
			}
			from = at
		}
		return p.withLedgerSession(cmd.Context(), command.ToChange, func(d *local) error {
			if path = cmp.Or(path, d.ErasuresIn); path == "" {
				return command.Invalid(errors.New("erasures are noted in data_dir, which is not set: name a file with --file"))
			}
			if from.IsZero() {
				lost, err := d.Ledger.LostTimes(cmd.Context())
				if err != nil {
					return err
				}
				if len(lost) == 0 {
					return command.Invalid(errors.New("the ledger was not quarantined: say with --since when its backup was made"))
				}
				from = lost[0].Since
			}
			noted, numbers, err := operator.NotedErasures(path, d.Ledger.LedgerID(), from)
			if err != nil {
				return err
			}
			done, err := d.EraseAgain(cmd.Context(), noted, numbers)
			if err != nil {
				return err
			}
			if err := p.Say(o, map[string]any{"file": path, "since": from.UTC(), "erasures": numbers, "rows": done.Rows,
				"under_way": done.UnderWay}, fmt.Sprintf("%s noted in %s since %s: %s erased",
				sentence.Count(numbers, "erasure is", "erasures are"), sentence.Printable(path), command.Clock(from),
				sentence.Count(done.Rows, "row", "rows"))); err != nil {
				return err
			}
			if done.UnderWay > 0 {
				fmt.Fprintf(p.Stderr, "campaignd: %s under way and keep the number until they end: repeat the command then\n",
					sentence.Count(done.UnderWay, "row is", "rows are"))
				return command.Silent(command.ExitUnsure)
			}
			return nil
		})
	}
	return cmd
}
