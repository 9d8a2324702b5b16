package command

import (
	"context"
	"io"
)

// Program is one invocation of campaignd, as its commands see it.
type Program struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environment    map[string]string
	// Server is --server: the address of another campaignd.
	Server string
	// Local calls do with the ledger of this machine.
	Local func(ctx context.Context, why Purpose, do func(Operations) error) error
}
