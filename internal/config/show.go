package config

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

var durationType = reflect.TypeFor[campaign.Duration]()

// Masked returns a copy without secrets: keys print as ***, URLs without their password.
func (c *Config) Masked() *Config {
	m := *c
	m.Ledger, m.Redis = RedactURL(c.Ledger), RedactURL(c.Redis)
	return &m
}

// YAML prints the configuration as a file that Load reads back, secrets masked.
func (c *Config) YAML() ([]byte, error) {
	out, err := yaml.MarshalWithOptions(c.Masked(), yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return out, nil
}

// sources are the files with the types of Config. Their comments are the descriptions in the
// schema, so that both are written once.
//
//go:embed config.go listen.go assumed.go numbers.go commerce.go cloud.go
var sources embed.FS

// fieldComments returns the comments above the fields of the structs in sources, by "Type.Field".
func fieldComments() (map[string]string, error) {
	comments := map[string]string{}
	files, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		source, err := sources.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), f.Name(), source, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read the comments of the configuration: %w", err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					comments[spec.Name.Name+"."+f.Names[0].Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
			return false
		})
	}
	return comments, nil
}

// Schema returns the JSON Schema (draft 2020-12) of the configuration file, with the defaults
// of this version. Editors complete and check with it.
func Schema() ([]byte, error) {
	comments, err := fieldComments()
	if err != nil {
		return nil, err
	}
	r := jsonschema.Reflector{
		LookupComment:              func(t reflect.Type, field string) string { return comments[t.Name()+"."+field] },
		FieldNameTag:               "yaml",
		DoNotReference:             true,
		ExpandedStruct:             true,
		RequiredFromJSONSchemaTags: true, // nothing is required: every key has a default
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[messaging.Secret]():
				return &jsonschema.Schema{Type: "string", WriteOnly: true}
			case durationType:
				const pattern = `^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`
				return &jsonschema.Schema{Type: "string", Pattern: pattern, Examples: []any{"10s", "15m", "24h"}}
			}
			return nil
		},
	}
	s := r.Reflect(&Config{})
	s.Title = "campaignd configuration"
	s.Description = "Every key can also be given in the environment as CAMPAIGND_SECTION_KEY, " +
		"and a secret also as a file that CAMPAIGND_SECTION_KEY_FILE names."
	c := Default()
	if err := addDefaults(s, c); err != nil {
		return nil, err
	}
	return json.MarshalIndent(s, "", "  ")
}

// addDefaults writes the default of each key into the schema.
func addDefaults(s *jsonschema.Schema, c *Config) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("defaults: %w", err)
	}
	fillDefaults(s, values)
	return nil
}

func fillDefaults(s *jsonschema.Schema, values map[string]any) {
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		switch v := values[pair.Key].(type) {
		case nil:
		case map[string]any:
			if pair.Value.Properties != nil {
				fillDefaults(pair.Value, v)
			}
		default:
			pair.Value.Default = v
		}
	}
}

// RedactURL hides the password of a URL, also among its parameters. Text that is no URL is hidden
// up to its last @, and wholly if it contains the word password. Other text is returned as it is.
func RedactURL(s string) string {
	u, err := url.Parse(s)
	last := strings.LastIndexByte(s, '@')
	switch {
	case last >= 0 && (err != nil || u.User == nil || strings.Count(s, "@") > 1):
		return "***" + s[last:]
	case err != nil, u.Scheme == "" && strings.Contains(s, "password"):
		return "***"
	}
	if q := u.Query(); q.Has("password") || q.Has("sslpassword") {
		for _, k := range []string{"password", "sslpassword"} {
			if q.Has(k) {
				q.Set(k, "xxxxx")
			}
		}
		u.RawQuery = q.Encode()
	}
	if u.User == nil && u.RawQuery == "" {
		return s
	}
	return u.Redacted()
}
