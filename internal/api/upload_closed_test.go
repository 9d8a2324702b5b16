package api

import (
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/client"
)

// Nothing of a list comes to a process that could not launch it, and its sender does not try again.
func TestAnIntakeTakesNoPartOfAList(t *testing.T) {
	w := newWorld(t)
	w.process.Launch, w.process.Uploads.Closed = nil, true
	for path, method := range map[string]string{"/api/v1/uploads": "POST", "/api/v1/uploads/" + exampleUpload.Hash: "PATCH",
		"/api/v1/runs": "POST"} {
		wantError(t, method+" "+path, w.ask(t, method, path, "admin", "phone\n"), 501, client.CodeNotOffered)
	}

	server := httptest.NewServer(w)
	defer server.Close()
	c, err := client.Access{URL: server.URL, Key: w.keys["admin"]}.Client()
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(list, []byte("phone\n"+strings.Repeat("+2348031234567\n", 10)), 0o600); err != nil {
		t.Fatal(err)
	}
	var told *client.Error
	if _, err = c.UploadList(t.Context(), list, func(p client.UploadProgress) {
		if p.Err != nil {
			t.Errorf("got another try after %v, want none", p.Err)
		}
	}); !errors.As(err, &told) || told.Code != client.CodeNotOffered || !strings.Contains(told.Message, "one that sends") {
		t.Errorf("got %v, want %s with the remedy", err, client.CodeNotOffered)
	}
	if left, err := filepath.Glob(filepath.Join(w.process.Uploads.Dir(), "*")); err != nil || len(left) != 0 {
		t.Errorf("got the uploads %v and %v, want none", left, err)
	}
}

// A process that sends nothing checks a long list all the same, and keeps nothing of it.
func TestAnIntakeChecksALongList(t *testing.T) {
	w := newWorld(t)
	w.process.Launch, w.process.Uploads.Closed = nil, true
	server := httptest.NewServer(w)
	defer server.Close()
	c, err := client.Access{URL: server.URL, Key: w.keys["admin"]}.Client()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := client.Launch{Campaign: filepath.Join(dir, "c.yaml"), List: filepath.Join(dir, "list.csv")}
	for path, text := range map[string]string{
		l.Campaign: "name: spring\nconnections: [conn_1]\ntemplate: {name: a, language: en}\n",
		l.List:     "phone\n" + strings.Repeat("+2348031234567\n", 1_200_000), // above 16 MiB
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := c.Check(t.Context(), l); err != nil || found.List != "list.csv" {
		t.Errorf("check: got %+v and %v, want the preflight of list.csv", found, err)
	}
	if _, err := c.ForecastLaunch(t.Context(), l); err != nil {
		t.Errorf("forecast: got %v, want one", err)
	}
	var told *client.Error
	if _, err := c.Launch(t.Context(), l); !errors.As(err, &told) || told.Code != client.CodeNotOffered {
		t.Errorf("launch: got %v, want %s", err, client.CodeNotOffered)
	}
	if left, err := filepath.Glob(filepath.Join(w.process.Uploads.Dir(), "*")); err != nil || len(left) != 0 {
		t.Errorf("got the uploads %v and %v, want none", left, err)
	}
}
