package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"campaignd/internal/ledger/sqlite/dbfile"
)

// SharedLedger reports whether processes on other machines can use the ledger at the same time.
func (c *Config) SharedLedger() bool {
	return strings.HasPrefix(c.Ledger, "postgres:") || strings.HasPrefix(c.Ledger, "postgresql:")
}

// LedgerFile returns the path of the SQLite ledger, and "" when the ledger is on a database server.
func (c *Config) LedgerFile() string {
	path, _ := strings.CutPrefix(c.Ledger, "sqlite:")
	if c.SharedLedger() {
		return ""
	}
	return path
}

// BesideLedger returns the path of what stands beside the file of the SQLite ledger. Every process
// has the same one, also when one of them was given a link.
func (c *Config) BesideLedger(suffix string) string {
	path, err := dbfile.Resolve(c.LedgerFile())
	if err != nil {
		path = c.LedgerFile() // opening the ledger returns the error
	}
	return path + suffix
}

// Disks are the folders that a process writes to, by the key of the configuration that names them.
// A ledger on a database server is not among them.
func (c *Config) Disks() map[string]string {
	all := map[string]string{}
	if !c.SharedLedger() {
		all["ledger"] = filepath.Dir(c.BesideLedger(""))
	}
	if c.DataDir != "" {
		all["data_dir"] = c.DataDir
	}
	return all
}

// AccessFile is the path of the file that tells how the process with the ledger's lock is reached.
func (c *Config) AccessFile() string { return c.BesideLedger(".api") }

// Uploads is the folder of lists that are being imported.
func (c *Config) Uploads() string {
	if !c.SharedLedger() {
		return c.BesideLedger(".uploads")
	}
	if c.DataDir != "" {
		return filepath.Join(c.DataDir, "campaignd.uploads")
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("campaignd-%d.uploads", os.Getpid()))
}

// LaunchesBeside reports whether a launch has to go to the process that has the ledger's lock.
func (c *Config) LaunchesBeside() bool { return !c.SharedLedger() }

// NoLedger reports whether the file of the SQLite ledger does not exist yet.
func (c *Config) NoLedger() bool {
	if c.SharedLedger() {
		return false
	}
	_, err := os.Stat(c.LedgerFile())
	return errors.Is(err, fs.ErrNotExist)
}

// WireLog returns the folder of the wire log, "" for none, and what its files' names begin with.
// Two SQLite ledgers may lie in one folder.
func (c *Config) WireLog() (dir, name string) {
	if c.SharedLedger() {
		return c.DataDir, "campaignd"
	}
	file := c.BesideLedger("")
	return cmp.Or(c.DataDir, filepath.Dir(file)), filepath.Base(file)
}

// Erasures is the file that has the erasures outside the ledger; "": there is none.
func (c *Config) Erasures() string {
	dir, name := c.WireLog()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name+".erasures")
}
