package main

import (
	"encoding/json"
	"strings"
	"testing"

	"campaignd/internal/client/resource"
)

func TestAKeyIsPrintedOnceAndListedWithoutIt(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	secret := strings.TrimSpace(d.want(0, "keys", "create", "Lagos desk", "--scope", "operate", "--company", "comp_1").stdout)
	if !strings.HasPrefix(secret, "cpd_") || len(secret) != 85 {
		t.Fatalf("got %q, want cpd_ and 81 characters", secret)
	}
	var keys []resource.Key
	listed := d.want(0, "keys", "list", "-o", "json").stdout
	if err := json.Unmarshal([]byte(listed), &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 1 || keys[0].Name != "Lagos desk" || keys[0].Scope != "operate" ||
		keys[0].Company != "comp_1" || keys[0].RevokedAt != nil {
		t.Fatalf("got %+v, want the one key", keys)
	}
	if strings.Contains(listed, secret[13:29]) {
		t.Error("the list contains the secret, want it nowhere")
	}
	d.want(0, "keys", "revoke", keys[0].ID)
	if out := d.want(0, "keys", "list").stdout; !strings.Contains(out, "revoked 2") {
		t.Errorf("got %s, want the key as revoked", out)
	}
	if out := d.want(0, "actions").stdout; !strings.Contains(out, "keys revoke") || !strings.Contains(out, "keys create") {
		t.Errorf("got %s, want both actions", out)
	}
	d.want(2, "keys", "revoke", "00000000")
	d.want(2, "keys", "create", "x", "--scope", "root")
}
