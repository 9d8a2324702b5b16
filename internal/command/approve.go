package command

import (
	"github.com/spf13/cobra"
)

// Approve returns the command approve.
func (p *Program) Approve() *cobra.Command {
	cmd, _ := p.control("approve", "Release a run that waits for approval (policies.approval)",
		"A campaign with policies.approval: true, or with more recipients than the number there, imports its list and then\n"+
			"waits. Look at `campaignd report RUN` first. With --server, the key that launched the run may not approve it.",
		Operations.Approve)
	return cmd
}
