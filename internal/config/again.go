package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// secretFiles are the files that the key of the service and the webhook secrets may come from: the
// configuration file, and those that variables name.
func secretFiles(path string, environment map[string]string) []string {
	files := []string{path}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if file := environment[name]; file != "" && strings.HasPrefix(name, "CAMPAIGND_") && strings.HasSuffix(name, "_FILE") {
			files = append(files, file)
		}
	}
	return files
}

// FromFiles reports whether Load made the configuration, so that Again can read it once more.
func (c *Config) FromFiles() bool { return c.again != nil }

// Again reads the configuration once more from the files and the environment of Load.
func (c *Config) Again() (*Config, error) { return c.again() }

// LedgerNow returns a function that reads the address of the ledger again from the files and the
// environment of Load; nil: the configuration came from no file.
func (c *Config) LedgerNow() func() (string, error) {
	return c.now(func(c *Config) string { return c.Ledger })
}

// RedisNow is LedgerNow for the address of Redis.
func (c *Config) RedisNow() func() (string, error) {
	return c.now(func(c *Config) string { return c.Redis })
}

func (c *Config) now(key func(*Config) string) func() (string, error) {
	if c.again == nil {
		return nil
	}
	return func() (string, error) {
		fresh, err := c.again()
		if err != nil {
			return "", err
		}
		return key(fresh), nil
	}
}

// Stamp changes with the files that secrets may come from, also when a link is set to another
// folder, as Kubernetes does.
func (c *Config) Stamp() (s string) {
	for _, path := range c.files {
		if info, err := os.Stat(path); err != nil {
			s += err.Error() + ";"
		} else {
			s += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";")
		}
	}
	return s
}
