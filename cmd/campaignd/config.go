package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"campaignd/campaign/file"
	"campaignd/internal/command"
	"campaignd/internal/config"
)

func (p *program) cmdConfig() *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "config",
		Short: "Show the configuration in force, or print the JSON Schemas",
	}, p.cmdConfigShow(), p.cmdConfigSchema())
}

func (p *program) cmdConfigShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration in force, with secrets masked",
		Long: `Prints the values merged from defaults, file and environment, as a file that --config accepts. Secrets are shown as
***. service.assumed contains the paths and throttling answers that campaignd assumes because the service's document
does not specify them. Change it for a service that differs.`,
		Example: `  campaignd config show
  CAMPAIGND_SERVICE_TIMEOUT=5s campaignd config show -o json`,
		Args: command.NoArguments,
	}
	o := command.AddOutput(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		if o.JSON() {
			return command.WriteJSON(p.Stdout, c.Masked())
		}
		text, err := c.YAML()
		if err != nil {
			return err
		}
		_, err = p.Stdout.Write(text)
		return err
	}
	return cmd
}

func (p *program) cmdConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [config|campaign]",
		Short: "Print the JSON Schema of the configuration or of campaign files",
		Long: `Prints a JSON Schema (draft 2020-12). Editors use it for completion and checks when the first line of the YAML file is
# yaml-language-server: $schema=FILE`,
		Example: "  campaignd config schema > campaignd.schema.json\n  campaignd config schema campaign > campaign.schema.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && args[0] != "config" && args[0] != "campaign" {
				return fmt.Errorf("want config or campaign, got %q", strings.Join(args, " "))
			}
			return nil
		},
		ValidArgs: []string{"config", "campaign"},
		RunE: func(_ *cobra.Command, args []string) error {
			schema := config.Schema
			if len(args) == 1 && args[0] == "campaign" {
				schema = file.Schema
			}
			text, err := schema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.Stdout, "%s\n", text)
			return err
		},
	}
}
