// Command skew adds to an overlay of the go command a package time whose wall clock is set by the
// environment: CLOCK_AHEAD=-330 makes time.Now 330 seconds earlier, for that process alone. The
// monotonic clock stays as it is. Tests of processes with a wrong clock use it; libfaketime does
// not reach a Go program, which asks the kernel without libc.
//
//	go run ./tools/skew overlay.json && go build -overlay overlay.json ./cmd/campaignd
//
// The file need not exist. The changed copy of time.go is written next to it.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The line of time.Now that reads the clock, and what it becomes.
const (
	reads = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n\t\treturn Time{uint64(nsec), sec + unixToInternal, Local}\n"
	skews = "\tsec, nsec, mono := runtimeNow()\n\tsec += skew\n"

	// Package time may import syscall, and nothing that parses a number.
	source = `
// skew is how many seconds the wall clock of this process is ahead.
var skew = func() (seconds int64) {
	text, _ := syscall.Getenv("CLOCK_AHEAD")
	for _, c := range text {
		if '0' <= c && c <= '9' {
			seconds = seconds*10 + int64(c-'0')
		}
	}
	if len(text) > 0 && text[0] == '-' {
		return -seconds
	}
	return seconds
}()
`
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "skew:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: skew OVERLAY.json")
	}
	overlay, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	if strings.Count(string(text), reads) != 1 {
		return fmt.Errorf("%s: time.Now is not what it was: adapt tools/skew", original)
	}
	changed := strings.Replace(string(text), reads, skews+reads[strings.Index(reads, "\tif mono"):], 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1) + source
	copied := filepath.Join(filepath.Dir(overlay), "time_skewed.go")
	if err := os.WriteFile(copied, []byte(changed), 0o600); err != nil {
		return err
	}
	files := struct{ Replace map[string]string }{Replace: map[string]string{}}
	switch text, err := os.ReadFile(overlay); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &files); err != nil {
			return fmt.Errorf("%s: %w", overlay, err)
		}
	}
	files.Replace[original] = copied
	if text, err = json.Marshal(files); err != nil {
		return err
	}
	return os.WriteFile(overlay, text, 0o600)
}
