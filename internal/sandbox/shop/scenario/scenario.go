package scenario

import "time"

// Commerce is the section of a scenario that says what the platform has. Unknown keys are refused
// by the strict decoder, and unknown ids, double ids and wrong values by Validate. The tags `check`
// name the rules of validate.go.
type Commerce struct {
	// Mode is live or sandbox. In live mode a sandbox key is refused with 403. Default live.
	Mode string `yaml:"mode" check:"live|sandbox"`
	// RateLimit applies to each company.
	RateLimit RateLimit `yaml:"rate_limit"`
	Faults    Faults    `yaml:"faults"`
	Apps      []App     `yaml:"apps"`
	Companies []Company `yaml:"companies"`
}

// RateLimit is a number of requests in any sliding time Per. 0 requests mean no limit.
type RateLimit struct {
	Requests int `yaml:"requests" check:"natural"`
	// Per defaults to 1 s.
	Per time.Duration `yaml:"per" check:"natural"`
}

// Faults are shares of the requests, 0 to 1.
type Faults struct {
	// TooManyRequests answers 429 before anything is done.
	TooManyRequests float64 `yaml:"too_many_requests" json:"too_many_requests" check:"share"`
	// ServerError answers 500, 502, 503 or 504 before anything is done.
	ServerError float64 `yaml:"server_error" json:"server_error" check:"share"`
	// LostAfter does what is asked and closes the connection without an answer.
	LostAfter float64 `yaml:"lost_after" json:"lost_after" check:"share"`
	// Shift adds a customer and an order to the company before a page of admin customers or orders
	// is made, half of them at the beginning, half at the end.
	Shift float64 `yaml:"shift" json:"shift" check:"share"`
}

// App is an application that companies install.
type App struct {
	ClientID     string `yaml:"client_id" check:"required unique"`
	ClientSecret string `yaml:"client_secret" check:"required"`
	RedirectURI  string `yaml:"redirect_uri" check:"url"`
	Codes        []Code `yaml:"codes"`
}

// Code is a code of an installation. It can be exchanged once.
type Code struct {
	Code    string `yaml:"code" check:"required unique"`
	Company string `yaml:"company" check:"required company"`
}

// Key is an API key of a company, with the public key of its storefront.
type Key struct {
	Key       string `yaml:"key" check:"required unique"`
	PublicKey string `yaml:"public_key" check:"unique"`
	// Kind is live or sandbox. Default live.
	Kind string `yaml:"kind" check:"live|sandbox"`
	// State is active, expired or revoked. Default active.
	State string `yaml:"state" check:"active|expired|revoked"`
}

// Token is an access token of an application that the company installed.
type Token struct {
	Token string `yaml:"token" check:"required unique"`
}

// Webhook is an address that gets the events of a company.
type Webhook struct {
	URL    string `yaml:"url" check:"url"`
	Secret string `yaml:"secret" check:"required"`
	// Events are the types. Default: all.
	Events []string `yaml:"events" check:"order.created|order.updated|payment.received|stock.updated"`
}

// Generate are customers and orders that are computed from the seed and not stored.
type Generate struct {
	Customers int `yaml:"customers" check:"natural"`
	Orders    int `yaml:"orders" check:"natural"`
	// Consent is the share whose metadata.consent is yes; the others have no.
	Consent   float64  `yaml:"consent" check:"share"`
	Languages []string `yaml:"languages"`
}
