package service

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
)

// rowOf finds the operation of a literal request.
func rowOf(method, path string) (found operations.Operation, ok bool) {
	want := strings.Split(path, "/")
	for _, o := range operations.All {
		segments := strings.Split(o.Path, "/")
		fits := o.Method == method && len(segments) == len(want)
		for i := 0; fits && i < len(want); i++ {
			fits = segments[i] == want[i] || strings.HasPrefix(segments[i], "{")
		}
		if fits && (!ok || !strings.Contains(o.Path, "{")) {
			found, ok = o, true
		}
	}
	return found, ok
}

// The same literal answers that the sandbox gives are read by the method of their operation: a
// success without a fault, a refusal with its code and that of the platform.
func TestEachLiteralAnswerIsRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(wireRoot, "*", "*", "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	successes := map[string]bool{}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		folder := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if folder == "send" || folder == "cloud" {
			continue
		}
		client, server, req := wireClient(t, folder, name)
		o, ok := rowOf(req.Method, req.Path)
		if !ok {
			continue // a path that no operation has, which the sandbox must refuse
		}
		err := rowCalls[o.Name](t.Context(), client)
		if o.Name == "media" && strings.Contains(name, "header_handle") {
			_, _, err = client.UploadHeader(t.Context(), "c1", "a.png", "image/png", strings.NewReader("x"))
		}
		var refusal struct {
			Error string
			Meta  struct{ Code int }
		}
		_ = json.Unmarshal(server.response.Body, &refusal)
		var e *messaging.Error
		switch {
		case server.response.Status < 300 && err == nil:
			successes[o.Name] = true
		case server.response.Status < 300:
			t.Errorf("%s/%s: %s reads the answer as %v, want no error", folder, name, o.Name, err)
		case !errors.As(err, &e) || refusal.Error != "" && (e.Code != refusal.Error || e.Platform != refusal.Meta.Code):
			t.Errorf("%s/%s: %s reads the answer as %v, want %s with the platform's code %d",
				folder, name, o.Name, err, refusal.Error, refusal.Meta.Code)
		}
	}
	if len(successes) < 25 {
		t.Errorf("got literal successes of %d operations, want 25 or more", len(successes))
	}
	t.Logf("literal successes of %d of %d operations", len(successes), len(operations.All))
}
