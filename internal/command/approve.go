package command

import (
	"github.com/spf13/cobra"
)

// Approve returns the command approve.
func (p *Program) Approve() *cobra.Command {
	cmd, _ := p.control("approve", "Approve a run that is waiting for it (policies.approval)",
		`After its import a run waits for approval if policies.approval of its campaign is true, or is a number and the run
has more recipients. Look at `+"`campaignd report RUN`"+` first. With --server, the key that launched the run cannot
approve it.`,
		Operations.Approve)
	return cmd
}
