package daemon

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"

	"campaignd/campaign"
	"campaignd/internal/messaging"
)

var durationType = reflect.TypeFor[campaign.Duration]()

// Masked is a copy in which no secret can be read: keys show as ***, URLs without their password.
func (c *Config) Masked() *Config {
	m := *c
	m.Ledger, m.Redis = redactURL(c.Ledger), redactURL(c.Redis)
	return &m
}

// YAML prints the configuration as a file that LoadConfig reads back, secrets masked.
func (c *Config) YAML() ([]byte, error) {
	out, err := yaml.MarshalWithOptions(c.Masked(), yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	return out, nil
}

// ConfigSchema is the JSON Schema of the configuration file (draft 2020-12), with the defaults
// of this version. Editors complete and check with it.
func ConfigSchema() ([]byte, error) {
	r := jsonschema.Reflector{
		FieldNameTag:               "yaml",
		DoNotReference:             true,
		ExpandedStruct:             true,
		RequiredFromJSONSchemaTags: true, // nothing is required: every key has a default
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[messaging.Secret]():
				return &jsonschema.Schema{Type: "string", WriteOnly: true}
			case durationType:
				return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$`, Examples: []any{"10s", "15m", "24h"}}
			}
			return nil
		},
	}
	s := r.Reflect(&Config{})
	s.Title = "campaignd configuration"
	s.Description = "Every key can also be given in the environment as CAMPAIGND_SECTION_KEY, secrets also as CAMPAIGND_SECTION_KEY_FILE."
	c := DefaultConfig()
	if err := addDefaults(s, c); err != nil {
		return nil, err
	}
	return json.MarshalIndent(s, "", "  ")
}

// addDefaults writes the default of each leaf into the schema.
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

// redactURL hides the password of a URL, also among its parameters. Of what is no URL nothing is shown before its last @, nor
// of a list of words with a password: anything else stays as it is.
func redactURL(s string) string {
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
