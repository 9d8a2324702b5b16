package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// every is the time between two scrapes.
const every = 2 * time.Second

// scrape is one answer of /metrics.
type scrape struct {
	At   time.Time `json:"at"`
	Page string    `json:"page"`
}

// record runs the scene for a time and scrapes it. It tries until one scrape is answered, and
// begins with that one.
func record(ctx context.Context, program string, length time.Duration) (scrapes []scrape, err error) {
	folder, err := os.MkdirTemp("", "dashboard")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	s, err := newScene(folder)
	if err != nil {
		return nil, err
	}
	defer s.close()
	for _, args := range [][]string{
		{"sandbox", "--addr", s.service, "--scenario", "scenario.yaml", "--webhook", "http://" + s.public + "/webhooks/messaging"},
		{"serve"},
	} {
		stop, err := start(folder, program, args...)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	fmt.Fprintln(os.Stderr, "recording for", length)
	for began := time.Now(); len(scrapes) == 0 || time.Since(scrapes[0].At) < length; {
		page, err := get(client, "https://"+s.admin+"/metrics")
		switch {
		case err == nil:
			scrapes = append(scrapes, scrape{time.Now(), page})
		case len(scrapes) == 0 && time.Since(began) > time.Minute:
			return nil, err
		case len(scrapes) > 0:
			fmt.Fprintln(os.Stderr, err)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return scrapes, nil
}

// start begins a process in a folder, whose output goes to a file there. stop ends it and shows the
// end of its output if it had failed before.
func start(folder, program string, args ...string) (stop func(), err error) {
	out, err := os.Create(filepath.Join(folder, args[0]+".log"))
	if err != nil {
		return nil, err
	}
	c := exec.Command(program, args...)
	c.Dir, c.Stdout, c.Stderr = folder, out, out
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			text, _ := os.ReadFile(out.Name())
			fmt.Fprintf(os.Stderr, "%s: %v\n%s\n", args[0], err, text[max(0, len(text)-4000):])
		}
		out.Close()
	}, nil
}

func get(client *http.Client, url string) (string, error) {
	answer, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(page), err
}

// readRecording reads lines of JSON that were compressed with gzip.
func readRecording(file string) ([]scrape, error) {
	packed, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	var all []scrape
	for lines := json.NewDecoder(text); ; {
		var s scrape
		switch err := lines.Decode(&s); {
		case errors.Is(err, io.EOF) && len(all) > 1:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, s)
	}
}

// writeRecording keeps the metrics of campaignd and of its process; without a name it does nothing.
func writeRecording(file string, all []scrape) error {
	if file == "" {
		return nil
	}
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	for i, s := range all {
		var kept strings.Builder
		for line := range strings.Lines(s.Page) {
			if strings.Contains(line, "campaignd_") || strings.Contains(line, "process_") || strings.Contains(line, "go_goroutines") {
				kept.WriteString(line)
			}
		}
		all[i].Page = kept.String()
		if err := json.NewEncoder(packed).Encode(all[i]); err != nil {
			return err
		}
	}
	return errors.Join(packed.Close(), os.WriteFile(file, out.Bytes(), 0o644))
}
