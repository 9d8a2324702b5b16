package command

import (
	"github.com/spf13/cobra"
)

// Approve returns the command approve.
func (p *Program) Approve() *cobra.Command {
	cmd, _ := p.control("approve", "Release a run that waits for approval (policies.approval)",
		"A run waits after its import if policies.approval of its campaign is true, or is a number that its recipients exceed.\n"+
			"Look at `campaignd report RUN` first. With --server, the key that launched the run may not approve it.",
		Operations.Approve)
	return cmd
}
