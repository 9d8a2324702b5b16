package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestConfigurationIsShownAndDescribed(t *testing.T) {
	d := &fixture{t: t, dir: t.TempDir(), env: map[string]string{"CAMPAIGND_SERVICE_API_KEY": "canary"}}
	d.env["CAMPAIGND_LOG_LEVEL"] = "debug"
	r := d.want(0, "config", "show")
	wantIn(t, "config show", r.stdout, "level: debug")
	if strings.Contains(r.stdout, "canary") {
		t.Errorf("config show: got\n%s\nwant it without the key", r.stdout)
	}
	for _, args := range [][]string{
		{"config", "schema"}, {"config", "schema", "campaign"}, {"config", "show", "-o", "json"}, {"version", "-o", "json"},
	} {
		if r := d.want(0, args...); !json.Valid([]byte(r.stdout)) {
			t.Errorf("campaignd %s: got %s, want JSON", strings.Join(args, " "), r.stdout)
		}
	}
	wantIn(t, "completion bash", d.want(0, "completion", "bash").stdout, "bash completion")
}

func TestEachSchemaIsOfItsOwnFile(t *testing.T) {
	d := &fixture{t: t, env: map[string]string{}}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "campaignd configuration"}, {[]string{"config"}, "campaignd configuration"}, {[]string{"campaign"}, "campaignd campaign"},
	} {
		got := d.want(0, append([]string{"config", "schema"}, tt.args...)...).stdout
		if !strings.Contains(got, `"title": "`+tt.want) {
			t.Errorf("config schema %v: got the schema %.200s, want the title %s", tt.args, got, tt.want)
		}
	}
}
