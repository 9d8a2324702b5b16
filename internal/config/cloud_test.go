package config

import (
	"path/filepath"
	"strings"
	"testing"

	"campaignd/internal/sandbox"
)

// Everybody knows the sandbox's secret. It may sign the events of a server on this machine only.
func TestTheSandboxsSecretIsForThisMachine(t *testing.T) {
	const own, known = "an-own-secret-of-the-app-0123456789", "it is the sandbox's secret"
	for _, tt := range []struct{ address, secret, fault string }{
		{"https://graph.example.com", own, ""},
		{"https://graph.example.com", sandbox.CloudAppSecret, known},
		{"http://127.0.0.1:9090", sandbox.CloudAppSecret, ""},
		{"https://graph.example.com", "short", "can be guessed"},
	} {
		c, err := Load(filepath.Join(t.TempDir(), "none"), false, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		token := write(t, "token", "token-of-a-system-user-0123456789")
		c.Cloud.BaseURL = tt.address
		c.Cloud.Accounts = []CloudAccount{{ID: "1016001", TokenFile: token, AppSecretFile: write(t, "secret", tt.secret), VerifyTokenFile: token}}
		if err := c.checkCloud(); err == nil != (tt.fault == "") || !strings.Contains(errorText(err), tt.fault) {
			t.Errorf("%s, secret %q: got %v, want %q", tt.address, tt.secret, err, tt.fault)
		}
	}
}

// A list of an audience has people's numbers: it is kept beside the ledger or in data_dir, and
// never in the folder in which a process of a shared ledger happens to run.
func TestListsOfAudiencesHaveAFolderOfTheirOwn(t *testing.T) {
	for _, tt := range []struct{ ledger, data, want string }{
		{"sqlite:/var/lib/c.db", "", "/var/lib/c.db.audiences"},
		{"sqlite:/var/lib/c.db", "/data", "/data/campaignd.audiences"},
		{"postgres://db.example.com/campaignd", "/data", "/data/campaignd.audiences"},
		{"postgres://db.example.com/campaignd", "", ""},
	} {
		c := &Config{Ledger: tt.ledger, DataDir: tt.data}
		if got := c.AudienceFolder(); got != tt.want {
			t.Errorf("%s with data_dir %q: got %q, want %q", tt.ledger, tt.data, got, tt.want)
		}
	}
}
