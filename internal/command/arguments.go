package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"campaignd/internal/sentence"
)

// WrongFlag adds to err the known flag that is nearest in spelling, else the command that lists the
// flags.
func WrongFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedName() == "server":
		return fmt.Errorf("%s works on its own machine only and has no --server%s", cmd.CommandPath(), InsteadOf(cmd.Name()))
	case errors.As(err, &unknown):
	case errors.As(err, &invalid) && wantedValue(invalid.GetFlag().Value.Type()) != "":
		return fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), wantedValue(invalid.GetFlag().Value.Type()))
	default:
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	if near := sentence.Nearest("--"+unknown.GetSpecifiedName(), names); near != "" && unknown.GetSpecifiedShortnames() == "" {
		return fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// InsteadOf names a command with --server that does something similar.
func InsteadOf(command string) string {
	if command == "run" {
		return "; `campaignd launch` gives a list to the campaignd of another machine"
	}
	return ""
}

// wantedValue describes the value of a flag of a type; "" for a type of which any text is a value.
func wantedValue(flagType string) string {
	switch flagType {
	case "int", "int64":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration such as 30s or 2h"
	case outputType:
		return "table or json"
	}
	return ""
}

// NoArguments refuses any argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("`%s` takes no argument, and %q is one", cmd.CommandPath(), args[0])
	}
	return nil
}

// OneArgument accepts one argument that is not empty.
func OneArgument(what, example string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return fmt.Errorf("want one %s; for example `%s %s`", what, cmd.CommandPath(), example)
		}
		return nil
	}
}

// Within refuses a number of a flag outside of its bounds.
func Within(flag string, n, least, most int) error {
	if n < least || n > most {
		return Invalid(fmt.Errorf("--%s %d: want %d to %d", flag, n, least, most))
	}
	return nil
}

// Help runs a command that was given no subcommand.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Group makes cmd a command that only has subcommands.
func Group(cmd *cobra.Command, subcommands ...*cobra.Command) *cobra.Command {
	cmd.Args, cmd.RunE = NoSubcommand, Help
	cmd.AddCommand(subcommands...)
	return cmd
}

// NoSubcommand refuses an unknown subcommand and names the known one that is nearest in spelling.
func NoSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean `%s %s`?", args[0], cmd.CommandPath(), near[0])
	}
	return fmt.Errorf("unknown command %q; `%s --help` lists the commands", args[0], cmd.CommandPath())
}
