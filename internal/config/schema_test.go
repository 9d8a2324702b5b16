package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	schema "github.com/santhosh-tekuri/jsonschema/v6"
)

// checker returns the judgement of a JSON Schema about a text in YAML.
func checker(t *testing.T, text []byte) func(text string) error {
	t.Helper()
	doc, err := schema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := schema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		object, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := schema.UnmarshalJSON(bytes.NewReader(object))
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(doc)
	}
}

func TestTheSchemaRefusesTypingErrors(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	check := checker(t, text)
	example := `
listen:   {public: ":8080", admin: "127.0.0.1:8081"}
ledger:   sqlite:campaignd.db
redis:    ""
service:  {base_url: "http://127.0.0.1:8090", api_key: "", timeout: 10s}
webhooks: {path: /webhooks/messaging, secrets: []}
numbers:  {conn_1: {rate: 80, tier: 100000, portfolio: main}}
plan:     {monthly_messages: 100000, resets: {day: 1, timezone: UTC}, reserve: 0.05}
campaigns: ./campaigns
drops:    [{bucket: "file:///var/lib/campaignd/inbox", prefix: "spring/", campaign: spring-sale}]
`
	if err := check(example); err != nil {
		t.Errorf("the example: got %v, want it accepted", err)
	}
	for _, bad := range []string{
		"listn: {}", "service: {timeout: 10}", "log: {level: loud}", "service: {timeout: soon}", "numbers: {a: {rte: 1}}",
	} {
		if check(bad) == nil {
			t.Errorf("%q: got it accepted, want it refused", bad)
		}
	}
}

func TestTheSchemaDescribesEveryKeyWithItsDefault(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	defaults, err := json.Marshal(Default())
	if err != nil {
		t.Fatal(err)
	}
	var schema, values map[string]any
	if err := errors.Join(json.Unmarshal(text, &schema), json.Unmarshal(defaults, &values)); err != nil {
		t.Fatal(err)
	}
	leaves := 0
	var walk func(path string, schema, values map[string]any)
	walk = func(path string, schema, values map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for key, value := range values {
			property, _ := properties[key].(map[string]any)
			if inner, ok := value.(map[string]any); ok {
				walk(path+key+".", property, inner)
				continue
			}
			if leaves++; value != nil && !reflect.DeepEqual(property["default"], value) {
				t.Errorf("%s%s: the default in the schema is %v, want %v", path, key, property["default"], value)
			}
			if description, _ := property["description"].(string); !strings.HasSuffix(description, ".") {
				t.Errorf("%s%s: the description in the schema is %q, want a sentence", path, key, description)
			}
		}
	}
	walk("", schema, values)
	if leaves < 25 {
		t.Errorf("the schema has %d keys, want every key of the configuration, 25 or more", leaves)
	}
}
