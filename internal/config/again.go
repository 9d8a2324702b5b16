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
