//go:build !unix

package ledger

import "os"

func stopServers(code int) { os.Exit(code) }
