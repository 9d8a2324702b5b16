package command

import (
	"strings"

	"github.com/spf13/cobra"

	"campaignd/campaign"
	"campaignd/internal/config"
)

// LoadCompletion is the command that loads the completion script, by shell.
var LoadCompletion = map[string]string{
	"bash":       "  source <(campaignd completion bash)",
	"zsh":        "  source <(campaignd completion zsh)",
	"fish":       "  campaignd completion fish | source",
	"powershell": "  campaignd completion powershell | Out-String | Invoke-Expression",
}

// flagValues are the values of each flag with a closed list of values.
var flagValues = map[string][]string{
	"output":    {"table", "json"},
	"format":    {"table", "json", "csv"},
	"class":     {string(campaign.ClassTransactional), string(campaign.ClassBulk)},
	"state":     notificationStates,
	"scope":     {string(campaign.ScopeMarketing), string(campaign.ScopeAll), string(campaign.ScopeUnreachable)},
	"unknown":   {"resend", "keep"},
	"role":      {string(config.RoleAll), string(config.RoleIntake), string(config.RoleSender)},
	"log-level": {"debug", "info", "warn", "error"},
}

// Complete makes cmd and its subcommands complete the ids of runs, the values of flags and the
// names of campaign files.
func (p *Program) Complete(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		p.Complete(sub)
	}
	switch words := strings.Fields(cmd.Use); {
	case len(words) > 1 && words[1] == "RUN":
		cmd.ValidArgsFunction = p.completeRun
	case len(words) > 1 && words[1] == "SCOPE":
		cmd.ValidArgsFunction = p.completeHold
	case len(words) > 1 && words[1] == "CAMPAIGN.yaml":
		cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		}
	}
	for name, values := range flagValues {
		if cmd.Flags().Lookup(name) == nil && cmd.PersistentFlags().Lookup(name) == nil {
			continue
		}
		// It fails only for a flag whose command completes it itself.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// completeRun lists the runs, newest first. It completes nothing when the ledger cannot be read.
func (p *Program) completeRun(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids := []string{"latest"}
	err := p.WithOperations(cmd.Context(), ToRead, func(d Operations) error {
		runs, err := d.Runs(cmd.Context(), campaign.RunFilter{})
		for _, r := range runs {
			ids = append(ids, r.ID)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
