package file_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"campaignd/campaign/file"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := file.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(file.SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(file.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func instance(t *testing.T, path string) any {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.YAMLToJSON(src)
	if err != nil {
		t.Fatalf("%s as JSON: got %v, want no error", path, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheSchemaAcceptsEveryExample(t *testing.T) {
	s := compiled(t)
	for _, path := range glob(t, "*.yaml") {
		if err := s.Validate(instance(t, path)); err != nil {
			t.Errorf("%s: got %v, want it accepted", path, err)
		}
	}
}

func TestTheSchemaRefusesEveryBrokenExample(t *testing.T) {
	s := compiled(t)
	for _, path := range glob(t, "broken/*.yaml") {
		if err := s.Validate(instance(t, path)); err == nil {
			t.Errorf("%s: got no error, want it refused", path)
		}
	}
}

// An editor shows a description of each key, and no object accepts unknown keys.
func TestTheSchemaExplainsEveryKey(t *testing.T) {
	text, err := file.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	if root["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema = %v, want draft 2020-12", root["$schema"])
	}
	keys := 0
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		props, _ := s["properties"].(map[string]any)
		if s["type"] == "object" && s["additionalProperties"] == nil {
			t.Errorf("%s is open, want additionalProperties", path)
		}
		for name, v := range props {
			p := v.(map[string]any)
			keys++
			if d, _ := p["description"].(string); !strings.HasSuffix(d, ".") {
				t.Errorf("%s.%s: description = %q, want a sentence", path, name, d)
			}
			walk(path+"."+name, p)
		}
		for _, below := range []string{"items", "additionalProperties"} {
			if p, ok := s[below].(map[string]any); ok {
				walk(path+"."+below, p)
			}
		}
	}
	walk("", root)
	if keys < 45 {
		t.Errorf("got %d keys, want 45 or more", keys)
	}
}
