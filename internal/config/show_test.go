package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestShownConfigurationHidesSecretsAndReadsBack(t *testing.T) {
	c, err := Load("none", false, env(
		"CAMPAIGND_SERVICE_BASE_URL", "https://api.example.com", "CAMPAIGND_SERVICE_API_KEY", "canary-1",
		"CAMPAIGND_WEBHOOKS_SECRETS", "canary-2-0123456789,canary-3-0123456789", "CAMPAIGND_REDIS", "redis://u:canary-4@h:1"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	object, err := json.Marshal(c.Masked())
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{string(text), string(object), fmt.Sprintf("%v %+v %#v", c.Service, c.Webhooks, c.Service.APIKey)} {
		if strings.Contains(out, "canary") {
			t.Errorf("got\n%s\nwant no secret", out)
		}
	}
	filled := strings.ReplaceAll(string(text), `- "***"`, "- 0123456789abcdef") // *** would be a secret that anybody can guess
	if _, err := Load(write(t, "shown.yaml", filled), true, noEnv); err != nil {
		t.Errorf("reading the printed configuration: got %v, want nil\n%s", err, text)
	}
}

func TestNoPasswordOfAnAddressIsPrinted(t *testing.T) {
	for _, given := range []string{
		"postgres://u:hush@h/db", "postgres://h/db?user=u&password=hush", "postgres://h/db?sslpassword=hush",
		"postgres://u:a@hush/x@h/db", "postgres://u:a hush@h/db", "redis://:hush@h:port", "redis://:a/hush@h",
		"host=h password=hush", "password = hush user = u",
	} {
		if got := RedactURL(given); strings.Contains(got, "hush") {
			t.Errorf("RedactURL(%s) = %s, want no password", given, got)
		}
		c := Default()
		for _, at := range []*string{&c.Ledger, &c.Redis, &c.Service.BaseURL} {
			old := *at
			if *at = given; strings.Contains(errorText(c.Validate()), "hush") {
				t.Errorf("%s: Validate = %v, want no password", given, c.Validate())
			}
			*at = old
		}
	}
	for _, plain := range []string{
		"sqlite:campaignd.db", "sqlite:/var/lib/password/c.db", "postgres://h/db?sslmode=disable", "redis://h:6379/1", "",
	} {
		if got := RedactURL(plain); got != plain {
			t.Errorf("RedactURL(%s) = %s, want it unchanged", plain, got)
		}
	}
}
