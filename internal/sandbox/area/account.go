package area

import "time"

// Key is an API key.
type Key struct {
	Token string `yaml:"token"`
	// Company is the id of the only company that the key covers. Empty means that the key is
	// partner-wide.
	Company string `yaml:"company"`
}

// Company is a company of the account. The service also calls it a client.
type Company struct {
	ID   string `yaml:"id"`
	Name string `yaml:"name"`
	// Suspended means that every call for the company is refused with 403 account_deactivated.
	Suspended bool `yaml:"suspended"`
	// Allowance is the number of messages per month of the company's own plan. 0 means that the
	// company uses the plan of the account.
	Allowance int64 `yaml:"allowance"`
	// Verified says whether the business has passed the operator's business verification. Without it
	// the client has no AUTHENTICATION templates, and 250 templates instead of 6,000. Default true.
	Verified *bool `yaml:"verified"`
	// Used is the number of messages of its own plan that were already used this month.
	Used int64 `yaml:"used"`
}

// Connection is one business account plus one phone number.
type Connection struct {
	ID string `yaml:"id"`
	// Phone is E.164 with +.
	Phone       string `yaml:"phone"`
	DisplayName string `yaml:"display_name"`
	// Company is the id of the company. Default co_1.
	Company string `yaml:"company"`
	// Portfolio names the group of numbers that share one tier. Default: the company.
	Portfolio string `yaml:"portfolio"`
	// Throughput is STANDARD (80 messages/s) or HIGH (1,000/s). Default STANDARD.
	Throughput string `yaml:"throughput"`
	// Coexistence limits the number to 20 messages/s.
	Coexistence bool `yaml:"coexistence"`
	// Rate is a limit in messages per second in place of the limits of Throughput and Coexistence. 0
	// means that these two apply.
	Rate int `yaml:"rate"`
	// Tier is one of TIER_50, TIER_250, TIER_1K, TIER_2K, TIER_10K, TIER_100K, TIER_UNLIMITED and
	// TIER_NOT_SET. GET /api/v1/numbers does not list a number without a tier; over the Cloud API its
	// tier is null.
	Tier string `yaml:"tier"`
	// Quality is GREEN, YELLOW or RED. Default GREEN.
	Quality string `yaml:"quality"`
	// Status is the state that GET /api/v1/connections shows. The platform refuses the messages of a
	// number that is restricted, disconnected or in maintenance (SetNumber). Default connected.
	Status string `yaml:"status"`
}

// Asset is a file that was stored before the sandbox started.
type Asset struct {
	ID string `yaml:"id"`
	// Company is the id of the company. Default co_1.
	Company string `yaml:"company"`
	// Age is the time since the upload. A file of 30 days or more has expired.
	Age time.Duration `yaml:"age"`
	// Filename defaults to the id.
	Filename string `yaml:"filename"`
	// ContentType is a type such as image/png. A file without a type fits every field.
	ContentType string `yaml:"content_type"`
	Size        int64  `yaml:"size"`
}

// Covers reports whether the key reaches a company. An empty company is the whole account.
func (k *Key) Covers(company string) bool { return k.Company == "" || k.Company == company }

// verified reports whether the business has passed the verification.
func (c *Company) verified() bool { return c.Verified == nil || *c.Verified }
