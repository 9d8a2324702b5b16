package daemon

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// errorText returns the text of err, and "no error" for nil.
func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// springFile is a campaign file without a schedule.
const springFile = "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\nrecipients: {file: l.csv}\n"

// dailySchedule fires at each midnight UTC, up to 48 h late.
const dailySchedule = "schedule: {cron: \"0 0 * * *\", timezone: UTC, misfire: run, grace: 48h}\n"

// makeDue dates a campaign file back by two days, so that a firing of dailySchedule is due.
func makeDue(t *testing.T, file string) {
	t.Helper()
	written := time.Now().AddDate(0, 0, -2)
	if err := os.Chtimes(file, written, written); err != nil {
		t.Fatal(err)
	}
}

// put writes a file of a folder, with its parents, by the name that each test gives.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// notes is a log that may be read while it is written.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// lines returns the lines that contain what.
func (n *notes) lines(what string) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for line := range strings.Lines(n.text.String()) {
		if strings.Contains(line, what) {
			found = append(found, line)
		}
	}
	return found
}

// logTo returns a logger that writes to n.
func logTo(n *notes) *slog.Logger { return slog.New(slog.NewTextHandler(n, nil)) }
