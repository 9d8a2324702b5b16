package config

import (
	"strings"
	"testing"
)

// A limit without a value would be none.
func TestAKeyOfTheConfigurationWithoutAValueIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"plan:\n  monthly_messages:\n":            "c.yaml:2:3: plan.monthly_messages: has no value; give one, or remove the key",
		"plan:\n  # monthly_messages: 1000\n":     "c.yaml:1:1: plan: has no value",
		"numbers: {conn_1: {rate: 80, ramp: }}":   "c.yaml:1:30: numbers.conn_1.ramp: has no value",
		"numbers: {conn_1: ~}":                    "c.yaml:1:11: numbers.conn_1: has no value",
		"suppressions: {words: [stopp, null]}":    "c.yaml:1:31: suppressions.words[1]: has no value; give one",
		"suppressions: {scope: }":                 "c.yaml:1:16: suppressions.scope: has no value",
		"redis:":                                  "c.yaml:1:1: a key has no value; give one, or remove the key",
		"service: {api_key: , user_agent: x}":     "c.yaml:1:11: a key has no value",
		"drops: [{bucket: 'file:x', campaign: }]": "c.yaml:1:28: drops[0].campaign: has no value",
		"log:\nlisten:\nreplicas: ~":              "c.yaml:3:1: replicas: has no value",
	} {
		_, err := Load(write(t, "c.yaml", text), true, noEnv)
		if !strings.Contains(errorText(err), want) || strings.Contains(errorText(err), "\n") {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
	for name, text := range map[string]string{
		"CAMPAIGND_NUMBERS": "{conn_1: {ramp: }}", "CAMPAIGND_PLAN_MONTHLY_MESSAGES": "~", "CAMPAIGND_SUPPRESSIONS_WORDS": "[null]",
		"CAMPAIGND_NUMBERS_CONN_1_TIER": " ",
	} {
		_, err := Load("none", false, env(name, text))
		if want := name + " in the environment: want "; !strings.HasPrefix(errorText(err), want) {
			t.Errorf("%s=%q: got %v, want %s", name, text, err, want)
		}
	}
}
