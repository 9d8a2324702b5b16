package main

import (
	"context"
	"io"
)

// Program is one invocation of campaignd, as its commands see it.
type Program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environment    map[string]string
	// server is --server: the address of another campaignd.
	server string
	// local calls do with the ledger of this machine.
	local func(ctx context.Context, why purpose, do func(operations) error) error
}
