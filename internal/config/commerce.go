package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"campaignd/campaign"
	"campaignd/internal/commerce"
	"campaignd/internal/messaging"
)

// Commerce is the commerce platform (docs/commerce.md). Without an address there is none.
type Commerce struct {
	// https, without a path; http only for a platform on this machine. Empty: no platform is used.
	BaseURL string `yaml:"base_url" json:"base_url"`
	// Id of the company.
	Company string `yaml:"company" json:"company"`
	// Id of one of its shops. Empty: all shops.
	Shop string `yaml:"shop" json:"shop"`
	// A key of the company's own. Give one of api_key, access_token, and client_id with
	// client_secret.
	APIKey messaging.Secret `yaml:"api_key" json:"api_key" secret:"value"`
	// The token of an installed application.
	AccessToken messaging.Secret `yaml:"access_token" json:"access_token" secret:"value"`
	// The application whose token the command commerce connect gets.
	ClientID string `yaml:"client_id" json:"client_id"`
	// The secret of that application. It verifies callbacks.
	ClientSecret messaging.Secret `yaml:"client_secret" json:"client_secret" secret:"value"`
	// Most requests per second.
	Rate float64 `yaml:"rate" json:"rate" jsonschema:"exclusiveMinimum=0,maximum=1000"`
	// Time of one request, from 10ms to 25s.
	Timeout campaign.Duration `yaml:"timeout" json:"timeout"`
	// How often the changed orders are read, from 10s to 24h.
	Poll campaign.Duration `yaml:"poll" json:"poll"`
	// The intake of the platform's events.
	Webhooks CommerceWebhooks `yaml:"webhooks" json:"webhooks"`
	// The assumptions where the platform's document shows nothing (docs/commerce.md#assumptions).
	Assumed CommerceAssumed `yaml:"assumed" json:"assumed"`
}

// CommerceWebhooks is the intake of the platform's events.
type CommerceWebhooks struct {
	// Path on the public listener.
	Path string `yaml:"path" json:"path"`
	// Signing secrets; several while one is rotated. In the environment one per line or comma. Empty:
	// no events are taken.
	Secrets []messaging.Secret `yaml:"secrets" json:"secrets" secret:"value"`
}

// CommerceAssumed replaces what campaignd assumes of the platform.
type CommerceAssumed struct {
	// Header that names the company on admin routes.
	CompanyHeader string `yaml:"company_header" json:"company_header"`
	// Path of the list of all customers.
	CustomersPath string `yaml:"customers_path" json:"customers_path"`
	// Path of the list of all orders.
	OrdersPath string `yaml:"orders_path" json:"orders_path"`
	// Parameter for the size of a page.
	PageSizeParameter string `yaml:"page_size_parameter" json:"page_size_parameter"`
	// Records of a page, from 1 to 1000.
	PageSize int `yaml:"page_size" json:"page_size" jsonschema:"minimum=1,maximum=1000"`
	// Parameter that searches a list.
	SearchFilter string `yaml:"search_filter" json:"search_filter"`
	// Parameter for the payments of one order.
	OrderFilter string `yaml:"order_filter" json:"order_filter"`
	// Parameter for the payments of one type.
	TypeFilter string `yaml:"type_filter" json:"type_filter"`
	// Header with the signature of an event.
	SignatureHeader string `yaml:"signature_header" json:"signature_header"`
}

func defaultCommerce() Commerce {
	a := commerce.Assumed{}.WithDefaults()
	return Commerce{
		Rate: 5, Timeout: campaign.Duration(10 * time.Second), Poll: campaign.Duration(time.Minute),
		Webhooks: CommerceWebhooks{Path: "/webhooks/commerce"},
		Assumed:  CommerceAssumed(a),
	}
}

// Configured reports whether there is a platform.
func (c Commerce) Configured() bool { return c.BaseURL != "" }

// Assumptions returns the assumptions as the client takes them.
func (c Commerce) Assumptions() commerce.Assumed { return commerce.Assumed(c.Assumed) }

// TakesEvents reports whether this process takes events of the platform.
func (c *Config) TakesEvents() bool {
	return len(c.Commerce.Webhooks.Secrets) > 0 && c.Role != RoleSender
}

// CommerceToken is the path of the file with the access token of the installed application; "" if
// there is no place for it.
func (c *Config) CommerceToken() string {
	switch {
	case c.DataDir != "":
		return filepath.Join(c.DataDir, "commerce.token")
	case c.SharedLedger():
		return ""
	}
	return c.BesideLedger(".commerce-token")
}

// AudienceFolder is the folder of the lists of audiences until they are imported: in data_dir, else
// beside the SQLite ledger; "" if there is neither.
func (c *Config) AudienceFolder() string {
	switch {
	case c.DataDir != "":
		return filepath.Join(c.DataDir, "campaignd.audiences")
	case c.SharedLedger():
		return ""
	}
	return c.BesideLedger(".audiences")
}

// NewCommerce makes the client of the configured platform. For an application it reads the token
// that `campaignd commerce connect` kept; the error has commerce.CodeNotConnected if there is none.
func NewCommerce(cfg *Config, log *slog.Logger) (*commerce.Client, error) {
	o := CommerceOptions(cfg, log)
	if cfg.Commerce.ClientID != "" {
		token, err := commerce.ReadToken(cfg.CommerceToken())
		if err != nil {
			return nil, err
		}
		o.AccessToken = token
	}
	return commerce.New(o)
}

// CommerceOptions returns the options of the client without the token of an installation.
func CommerceOptions(cfg *Config, log *slog.Logger) commerce.Options {
	c := cfg.Commerce
	return commerce.Options{BaseURL: c.BaseURL, Company: c.Company, Shop: c.Shop, APIKey: c.APIKey, AccessToken: c.AccessToken,
		Rate: c.Rate, Timeout: time.Duration(c.Timeout), Assumed: c.Assumptions(), Log: log}
}

// checkCommerce refuses a platform that could not be asked. Its address decides whether there is
// one, so no other key may be set without it.
func (c *Config) checkCommerce() error {
	m := c.Commerce
	set := m.Company != "" || m.Shop != "" || m.ClientID != "" || len(m.Webhooks.Secrets) > 0
	for _, s := range []struct {
		key    string
		secret messaging.Secret
	}{{"api_key", m.APIKey}, {"access_token", m.AccessToken}, {"client_secret", m.ClientSecret}} {
		if set = set || !s.secret.IsZero(); commerce.CheckSecret(s.secret) != nil {
			return fmt.Errorf("commerce.%s: %w", s.key, commerce.CheckSecret(s.secret))
		}
	}
	if err := m.Assumptions().Validate(); err != nil {
		return fmt.Errorf("commerce.assumed.%w", err)
	}
	if m.Rate <= 0 || m.Rate > 1000 {
		return fmt.Errorf("commerce.rate: %v is out of bounds; give more than 0 and at most 1000 requests per second", m.Rate)
	}
	if err := between("commerce.timeout", m.Timeout, 10*time.Millisecond, 25*time.Second); err != nil {
		return err
	}
	if err := between("commerce.poll", m.Poll, 10*time.Second, 24*time.Hour); err != nil {
		return err
	}
	if !m.Configured() {
		if set {
			return fmt.Errorf("commerce.base_url: %w", commerce.CheckBase(""))
		}
		return c.checkCommercePath()
	}
	if err := commerce.CheckBase(m.BaseURL); err != nil {
		return fmt.Errorf("commerce.base_url: %w", err)
	}
	if m.Company == "" {
		return errors.New("commerce.company: missing; give the id of the company")
	}
	for _, id := range []struct{ key, value string }{{"company", m.Company}, {"shop", m.Shop}} {
		if err := commerce.CheckID(id.value); err != nil {
			return fmt.Errorf("commerce.%s: %q %w", id.key, id.value, err)
		}
	}
	return cmp.Or(m.checkForm(), c.checkCommercePath(), c.checkCommerceSecrets())
}

// checkForm refuses none or several of the three forms of authentication.
func (c Commerce) checkForm() error {
	if (c.ClientID == "") != c.ClientSecret.IsZero() {
		return errors.New("commerce.client_secret: client_id and client_secret belong together; one of them is missing")
	}
	forms := 0
	for _, given := range []bool{!c.APIKey.IsZero(), !c.AccessToken.IsZero(), c.ClientID != ""} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		return errors.New("commerce.api_key: give one of api_key, access_token, and client_id with client_secret")
	}
	return nil
}

func (c *Config) checkCommercePath() error {
	switch path := c.Commerce.Webhooks.Path; {
	case path == c.Webhooks.Path:
		return fmt.Errorf("commerce.webhooks.path: %q is webhooks.path too; give another", path)
	default:
		return checkPath("commerce.webhooks.path", path)
	}
}

func (c *Config) checkCommerceSecrets() error {
	secrets := c.Commerce.Webhooks.Secrets
	for i, s := range secrets {
		if n := len(s.Reveal()); n < commerce.MinSecret {
			return fmt.Errorf("commerce.webhooks.secrets[%d] has %d bytes and can be guessed: have the platform sign with one of %d or more",
				i, n, commerce.MinSecret)
		}
	}
	if len(secrets) > 0 && len(c.Webhooks.Secrets) == 0 && c.Role != RoleSender {
		return errors.New("commerce.webhooks.secrets: the public listener needs webhooks.secrets too")
	}
	return nil
}
