package api

import (
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"campaignd/internal/client"
)

// Each parameter of each route is sent empty, twice, and with a value that it cannot have.
func TestAFaultyQueryNamesItsParameterAndRemedy(t *testing.T) {
	w := newWorld(t)
	seen := 0
	for _, d := range w.documented() {
		path, _, _ := strings.Cut(d.filled("spring-1"), "?")
		for _, p := range d.op.Parameters {
			if p.In != "query" {
				continue
			}
			seen++
			wrong, remedy := wrongValue(p.Schema)
			empty := p.Name + " is empty: give a value, or leave " + p.Name + " out"
			if p.Required {
				empty = "the parameter " + p.Name + " is missing: "
			}
			for query, want := range map[string]string{
				p.Name + "=":                   empty,
				p.Name + "=1&" + p.Name + "=2": p.Name + " is given 2 times: give one value",
				p.Name + "=" + wrong:           remedy,
			} {
				got := w.ask(t, d.method, path+"?"+query, "admin", d.body(t))
				wantError(t, d.method+" "+path+"?"+query, got, 400, client.CodeInvalid)
				if !strings.Contains(got.Body.String(), p.Name) || !strings.Contains(got.Body.String(), want) {
					t.Errorf("%s %s?%s: got %s, want %q", d.method, path, query, got.Body, want)
				}
			}
		}
	}
	if seen < 48 {
		t.Errorf("got %d parameters of queries, want 48 or more", seen)
	}
}

// wrongValue is a value that no parameter of a schema has, and what the refusal says.
func wrongValue(s *huma.Schema) (value, remedy string) {
	switch {
	case s.Type == huma.TypeInteger:
		return "-1", "want a whole number"
	case s.Type == huma.TypeBoolean:
		return "yes", "want true or false"
	case s.Format == "date-time":
		return "yesterday", "want a time such as 2026-03-02T09:00:00Z"
	case len(s.Enum) > 0:
		return "colour", "known here: "
	case s.MaxLength != nil:
		return strings.Repeat("x", *s.MaxLength+1), "want at most"
	case s.Pattern != "":
		return "Z", "want what matches"
	}
	return "", "a bound"
}

func TestARefusalOfAQuerySaysWhatWasMeant(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]string{
		"series?step=x":                          `step=x: want a whole number from 0 to 31622400`,
		"series?step=31622401":                   `step=31622401: want a whole number from 0 to 31622400`,
		"deliveries?after=1.5":                   `after=1.5: want a whole number of 0 or more`,
		"deliveries?status=faild":                `status=faild: did you mean \"failed\"?`,
		"deliveries?since=2026-03-02T09:00+01":   `with each + written %2B`,
		"deliveries?statsu=failed":               `unknown parameter \"statsu\"; did you mean \"status\"?`,
		"deliveries?status=failed%zz":            `with each % written %25`,
		"deliveries?status=failed&status=queued": `status is given 2 times: give one value`,
		"why/recipient":                          `the parameter to is missing: a phone number, as the list`,
		"why/recipient?to=+2348031234567":        `to= 2348031234567: it begins with a blank; write a + as %2B`,
		"history?step=1":                         `unknown parameter \"step\"; this route has none`,
	} {
		got := w.ask(t, "GET", "/api/v1/runs/spring-1/"+query, "read", "")
		wantError(t, query, got, 400, client.CodeInvalid)
		if !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: got %s, want %s", query, got.Body, want)
		}
	}
}
