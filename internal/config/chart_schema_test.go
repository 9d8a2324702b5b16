package config

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateChart = flag.Bool("update-chart", false, "write the schema of config into the chart's values.schema.json")

const (
	chart       = "../../deploy/helm/campaignd/"
	chartSchema = chart + "values.schema.json"
)

// chartRefuses are the keys that the values of the chart must not have, and where to set them.
var chartRefuses = map[string]string{
	"service.api_key":                    "name a secret in secrets.apiKey",
	"webhooks.secrets":                   "name a secret in secrets.webhookSecrets",
	"commerce.api_key":                   "name a secret in secrets.commerceKey",
	"commerce.access_token":              "name a secret in secrets.commerceToken",
	"commerce.client_id":                 "run `campaignd commerce connect` elsewhere, and name its token in secrets.commerceToken",
	"commerce.client_secret":             "run `campaignd commerce connect` elsewhere, and name its token in secrets.commerceToken",
	"commerce.webhooks.secrets":          "name a secret in secrets.commerceWebhookSecrets",
	"cloud.accounts[].token_file":        "the chart sets it; name a secret in secrets.cloud",
	"cloud.accounts[].app_secret_file":   "the chart sets it; name a secret in secrets.cloud",
	"cloud.accounts[].verify_token_file": "the chart sets it; name a secret in secrets.cloud",
	"notifications.*.url":                "give CAMPAIGND_NOTIFICATIONS_NAME_URL in extraEnv, from a secret",
	"notifications.*.secrets":            "give CAMPAIGND_NOTIFICATIONS_NAME_SECRETS in extraEnv, from a secret",
	"ledger":                             "secrets.ledger names it in cluster mode",
	"redis":                              "secrets.redis names it",
	"listen":                             "the chart sets it",
	"campaigns":                          "the chart sets it", "role": "mode decides", "data_dir": "the chart sets it",
}

// chartConfig is the schema of config in the chart: that of the configuration, without its words.
func chartConfig(t *testing.T) map[string]any {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"$schema", "$id"} {
		delete(s, word)
	}
	s = bare(s).(map[string]any)
	for path, where := range chartRefuses {
		at, names := s, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			list, found := strings.CutSuffix(name, "[]")
			if name == "*" {
				at = at["additionalProperties"].(map[string]any)
			} else if at = at["properties"].(map[string]any)[list].(map[string]any); found {
				at = at["items"].(map[string]any)
			}
		}
		at["properties"].(map[string]any)[names[len(names)-1]] = map[string]any{"not": map[string]any{}, "description": where}
	}
	s["description"] = "campaignd.yaml without its secrets"
	return s
}

// bare removes what says nothing about validity. Below properties the names are those of keys.
func bare(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
	case map[string]any:
		for _, word := range []string{"title", "description", "default", "examples", "writeOnly", "format"} {
			delete(v, word)
		}
		for word, of := range v {
			if keys, ok := of.(map[string]any); ok && (word == "properties" || word == "patternProperties") {
				for key, s := range keys {
					keys[key] = bare(s)
				}
				continue
			}
			v[word] = bare(of)
		}
	}
	return v
}

// secretKeys returns the paths of the keys of t that hold a secret.
func secretKeys(t reflect.Type, path string) (keys []string) {
	switch t.Kind() {
	case reflect.Map:
		return secretKeys(t.Elem(), path+".*")
	case reflect.Slice:
		return secretKeys(t.Elem(), path+"[]")
	case reflect.Pointer:
		return secretKeys(t.Elem(), path)
	case reflect.Struct:
	default:
		return nil
	}
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch at := strings.TrimPrefix(path+"."+key, "."); {
		case f.Tag.Get("secret") != "":
			keys = append(keys, at)
		case f.IsExported() && key != "-":
			keys = append(keys, secretKeys(f.Type, at)...)
		}
	}
	return keys
}

// The config of the chart is in a ConfigMap, which more people may read than secrets.
func TestTheChartTakesNoSecretAsConfiguration(t *testing.T) {
	keys := secretKeys(reflect.TypeFor[Config](), "")
	if len(keys) < 10 {
		t.Errorf("got the secret keys %q, want 10 or more", keys)
	}
	for _, key := range keys {
		if chartRefuses[key] == "" {
			t.Errorf("%s: the chart takes it, want it refused with where to set it", key)
		}
	}
}

// An unknown key of config fails at helm lint, and not in the pod.
func TestTheChartKnowsEachKeyOfTheConfiguration(t *testing.T) {
	text, err := os.ReadFile(chartSchema)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	properties, want := values["properties"].(map[string]any), chartConfig(t)
	if *updateChart {
		properties["config"] = want
		if text, err = json.MarshalIndent(values, "", "  "); err == nil {
			err = os.WriteFile(chartSchema, append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, properties["config"]); diff != "" {
		t.Fatalf("config in values.schema.json -want +got:\n%s\n-update-chart writes it", diff)
	}
	check := checker(t, text)
	files, err := filepath.Glob(chart + "ci/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("got %d values and %v, want those of the chart's checks", len(files), err)
	}
	for _, file := range append(files, chart+"values.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(string(text)); err != nil {
			t.Errorf("%s: got %v, want it accepted", file, err)
		}
	}
	for text, ok := range map[string]bool{
		"config: {service: {base_url: x}, drops: [{bucket: 's3://lists', campaign: a, again: true}], sending: {tick: 1s}}": true,
		"config: {service: {base_url: x}, numbers: {conn_1: {rate: 80, portfolio: main}}, plan: {reserve: 0.05}}":          true,
		"config: {service: {base_url: x, timout: 10s}}":                                                                    false,
		"config: {service: {base_url: x}, number: {conn_1: {rate: 80}}}":                                                   false,
		"config: {service: {base_url: x}, numbers: {conn_1: {rat: 80}}}":                                                   false,
		"config: {service: {base_url: x}, drops: [{buckets: 's3://lists'}]}":                                               false,
		"config: {service: {base_url: x}, plan: {monthly_messages: many}}":                                                 false,
		"config: {cloud: {accounts: [{id: '1', portfolio: main}]}}":                                                        true,
		"config: {cloud: {accounts: [{id: '1', token_file: /token}]}}":                                                     false,
		"config: {cloud: {accounts: [{id: 1}]}}":                                                                           false,
		"config: {service: {base_url: x, api_key: k}}":                                                                     false,
		"config: {service: {base_url: x}, listen: {public: ':1'}}":                                                         false,
		"config: {service: {base_url: x}, notifications: {ops: {format: slack, events: [run.finished]}}}":                  true,
		"config: {service: {base_url: x}, notifications: {ops: {format: slack, url: 'https://h/x'}}}":                      false,
		"config: {service: {base_url: x}, notifications: {ops: {secrets: [whsec_x]}}}":                                     false,
	} {
		if err := check(text); (err == nil) != ok {
			t.Errorf("%s: got %v, want it accepted %v", text, err, ok)
		}
	}
}
