package operations_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"campaignd/internal/operations"
)

const wire = "../../testdata/wire"

// literal reads the operation that a case of testdata/wire asks, and what it answers: "200", or
// status and error such as "409 limit_reached".
func literal(t *testing.T, request string) (name, answer string) {
	t.Helper()
	var req struct{ Method, Path string }
	var res struct {
		Status int
		Body   struct{ Error string }
	}
	for file, into := range map[string]any{request: &req, filepath.Join(filepath.Dir(request), "response.json"): &res} {
		raw, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatalf("read %s: %v, want a JSON document", file, err)
		}
	}
	for _, o := range operations.All {
		variable := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(o.Path, "[^/]+")
		if o.Method == req.Method && regexp.MustCompile("^"+variable+"$").MatchString(req.Path) && (name == "" || o.Path == req.Path) {
			name = o.Name
		}
	}
	return name, strings.TrimSpace(strconv.Itoa(res.Status) + " " + res.Body.Error)
}

// ownErrors are the errors of a row, such as "409 limit_reached".
func ownErrors(o operations.Operation) (errors []string) {
	status := ""
	for _, word := range regexp.MustCompile("`[a-z_]+`|[0-9]{3}\\b").FindAllString(o.Errors, -1) {
		if !strings.HasPrefix(word, "`") {
			status = word
			continue
		}
		errors = append(errors, status+" "+strings.Trim(word, "`"))
	}
	return errors
}

func TestEachAnswerOfARowHasALiteral(t *testing.T) {
	requests, err := filepath.Glob(filepath.Join(wire, "*", "*", "request.json"))
	if err != nil || len(requests) < 100 {
		t.Fatalf("found %d cases: %v; want 100 or more", len(requests), err)
	}
	shown := map[string]bool{}
	for _, request := range requests {
		name, answer := literal(t, request)
		shown[name+" "+answer] = true
	}
	for _, o := range operations.All {
		want := []string{"200"}
		if o.Method == "DELETE" {
			want[0] = "204"
		}
		for _, answer := range append(want, ownErrors(o)...) {
			if !shown[o.Name+" "+answer] {
				t.Errorf("%s (%s %s): no case of testdata/wire answers %s, want one", o.Name, o.Method, o.Path, answer)
			}
		}
	}
}
