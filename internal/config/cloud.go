package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/sandbox"
	"campaignd/internal/secret"
)

// Cloud is the platform's own Cloud API (docs/cloud.md). Without accounts it is not used.
type Cloud struct {
	// Address of the API; http only for a server on this machine.
	BaseURL string `yaml:"base_url" json:"base_url" jsonschema:"format=uri"`
	// Version of the API, which is pinned.
	Version string `yaml:"version" json:"version" jsonschema:"example=v25.0"`
	// Connection ids of your own: from the name to the phone_number_id. A number without a name has
	// its phone_number_id as its connection id.
	Names map[string]string `yaml:"names,omitempty" json:"names,omitempty"`
	// The business accounts. Give none to send by the service alone.
	Accounts []CloudAccount `yaml:"accounts,omitempty" json:"accounts,omitempty"`
}

// CloudAccount is one business account of the platform. Its secrets are in files, which are read
// without a line break at their end.
type CloudAccount struct {
	// Id of the account, in digits.
	ID string `yaml:"id" json:"id"`
	// File with the access token of a system user.
	TokenFile string `yaml:"token_file" json:"token_file"`
	// File with the secret of the app, by which the platform signs events.
	AppSecretFile string `yaml:"app_secret_file" json:"app_secret_file"`
	// File with the token by which the platform asks whether a webhook is ours.
	VerifyTokenFile string `yaml:"verify_token_file" json:"verify_token_file"`
	// Id of the app, in digits, for the files of template headers. Empty: templates with a file in the
	// header cannot be pushed.
	AppID string `yaml:"app_id,omitempty" json:"app_id,omitempty"`
	// Name shared by the accounts of one business, which share one tier. Empty: the account alone.
	Portfolio string `yaml:"portfolio" json:"portfolio"`
	// Send MARKETING templates by marketing_messages.
	MarketingAPI bool `yaml:"marketing_api" json:"marketing_api"`
}

// CloudSecrets are the secrets of one account.
type CloudSecrets struct{ Token, App, Verify messaging.Secret }

// Configured reports whether there is an account.
func (c Cloud) Configured() bool { return len(c.Accounts) > 0 }

// Secrets reads the files of an account. An error names the key.
func (a CloudAccount) Secrets(key string) (s CloudSecrets, err error) {
	for _, f := range []struct {
		name, path string
		into       *messaging.Secret
	}{{"token_file", a.TokenFile, &s.Token}, {"app_secret_file", a.AppSecretFile, &s.App},
		{"verify_token_file", a.VerifyTokenFile, &s.Verify}} {
		if *f.into, err = readSecret(f.path); err != nil {
			return CloudSecrets{}, fmt.Errorf("%s.%s: %w", key, f.name, err)
		}
	}
	return s, nil
}

// files are the files of secrets.
func (c Cloud) files() (all []string) {
	for _, a := range c.Accounts {
		all = append(all, a.TokenFile, a.AppSecretFile, a.VerifyTokenFile)
	}
	return all
}

// readSecret reads a file that holds one secret. If there is no such file, the error does not show
// the path: it may be the secret itself.
func readSecret(path string) (messaging.Secret, error) {
	if path == "" {
		return messaging.Secret{}, errors.New("empty; name the file that holds it")
	}
	src, err := os.ReadFile(path)
	if _, missing := os.Lstat(path); missing != nil {
		return messaging.Secret{}, errors.New("there is no such file; write the secret alone into a file, and give the path of the file here")
	}
	if err != nil {
		return messaging.Secret{}, fmt.Errorf("%w; give the path of a file that this user may read, and that holds the secret alone", err)
	}
	text := strings.TrimRight(string(src), "\r\n")
	if text == "" || len(text) > 4096 || !utf8.ValidString(text) || !messaging.Visible(text) {
		return messaging.Secret{}, fmt.Errorf("%s does not hold a secret alone: one line without blanks, of at most 4096 bytes", path)
	}
	return messaging.NewSecret(text), nil
}

// CloudOptions returns the options of the client, and the secrets of each account by its id.
func CloudOptions(cfg *Config) (o cloud.Options, secrets map[string]CloudSecrets, err error) {
	c := cfg.Cloud
	o = cloud.Options{BaseURL: c.BaseURL, Version: c.Version, Names: c.Names, Timeout: time.Duration(cfg.Service.Timeout),
		MaxInFlight: cfg.Sending.InFlight * max(len(cfg.Numbers), 4), UserAgent: cfg.Service.UserAgent}
	secrets = map[string]CloudSecrets{}
	for i, a := range c.Accounts {
		s, err := a.Secrets(fmt.Sprintf("cloud.accounts[%d]", i))
		if err != nil {
			return o, nil, err
		}
		secrets[a.ID] = s
		o.Accounts = append(o.Accounts, cloud.Account{ID: a.ID, Token: s.Token, AppSecret: s.App, App: a.AppID,
			Portfolio: a.Portfolio, MarketingAPI: a.MarketingAPI})
	}
	return o, secrets, nil
}

// checkCloud refuses accounts that could not be used. Two accounts may have the same app, and so
// the same secret.
func (c *Config) checkCloud() error {
	m := c.Cloud
	if !m.Configured() {
		if len(m.Names) > 0 {
			return errors.New("cloud.names: there is no account whose numbers it could name; give cloud.accounts")
		}
		return nil
	}
	o, secrets, err := CloudOptions(c)
	if err != nil {
		return err
	}
	if err := o.Validate(time.Now()); err != nil {
		return fmt.Errorf("cloud.%w", err)
	}
	u, err := url.Parse(o.BaseURL)
	here := err == nil && secret.Loopback(u.Hostname())
	for i, a := range m.Accounts {
		if secrets[a.ID].App.Reveal() == sandbox.CloudAppSecret && !here {
			return fmt.Errorf("cloud.accounts[%d].app_secret_file: it is the sandbox's secret, which everybody knows: give your app's secret", i)
		}
		if n := len(secrets[a.ID].App.Reveal()); n < messaging.MinSecret {
			return fmt.Errorf("cloud.accounts[%d].app_secret_file: a secret of %d bytes can be guessed; copy the app's secret whole", i, n)
		}
		of := func(s messaging.Secret) bool { return s.Reveal() == secrets[a.ID].App.Reveal() }
		if slices.ContainsFunc(c.Webhooks.Secrets, of) {
			return fmt.Errorf("cloud.accounts[%d].app_secret_file: webhooks.secrets has the same secret, and the service must not vouch for "+
				"events of the platform", i)
		}
	}
	return nil
}
