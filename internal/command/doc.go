// Package command has the commands that ask a ledger: the one of this machine, or with --server the
// one of another campaignd. It also has what all commands share: flags, tables, exit codes and the
// words of wrong usage. cmd/campaignd calls it, and adds the commands that send, serve or set up.
// Program.Local is its only way to the ledger of this machine, so this package opens nothing.
package command
