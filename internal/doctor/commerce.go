package doctor

import (
	"context"
	"errors"
	"fmt"

	"campaignd/internal/commerce"
	"campaignd/internal/config"
	"campaignd/internal/messaging"
)

// CommerceStatus is what is known of the connection to the commerce platform.
type CommerceStatus struct {
	// Connected means that the platform answers, and that the key or the token may read the company.
	Connected bool `json:"connected"`
	// Code is why not: a code of docs/commerce.md#errors, not_configured or broken; "" if connected.
	Code string `json:"code,omitempty"`
	// Sentence says it to a person, without a full stop.
	Sentence string `json:"sentence"`
	// Remedy is what to do; "" if connected.
	Remedy string `json:"remedy,omitempty"`
}

// AskCommerce asks the platform for the company and for a payment. It blocks for at most as long as
// the client repeats its requests, and changes nothing.
func AskCommerce(ctx context.Context, cfg *config.Config) CommerceStatus {
	if !cfg.Commerce.Configured() {
		return CommerceStatus{Code: "not_configured", Sentence: "no commerce platform is configured",
			Remedy: "set commerce.base_url, commerce.company and a key, if there is one"}
	}
	client, err := config.NewCommerce(cfg, nil)
	if err != nil {
		return faultOfCommerce(err)
	}
	defer client.Close()
	company, err := client.Check(ctx)
	if err != nil {
		return faultOfCommerce(err)
	}
	with := "API key"
	switch {
	case cfg.Commerce.ClientID != "":
		with = "token of the installed application"
	case !cfg.Commerce.AccessToken.IsZero():
		with = "access token"
	}
	return CommerceStatus{Connected: true, Sentence: fmt.Sprintf("%s answers for the company %s with the %s",
		cfg.Commerce.BaseURL, messaging.Scrub(company.Name, 80), with)}
}

func faultOfCommerce(err error) CommerceStatus {
	var e *commerce.Error
	var code commerce.Code
	switch {
	case errors.As(err, &e):
		code = e.Code
	case errors.Is(err, context.DeadlineExceeded):
		code = commerce.CodeTimeOut
	}
	if code != "" {
		return CommerceStatus{Code: string(code), Sentence: code.Sentence(), Remedy: code.Remedy()}
	}
	return CommerceStatus{Code: "broken", Sentence: messaging.Scrub(err.Error(), 300), Remedy: "check commerce in the configuration"}
}

// checkCommerce is the doctor's line about the platform; there is none without one.
func checkCommerce(ctx context.Context, cfg *config.Config) []Check {
	const name = "commerce"
	if !cfg.Commerce.Configured() {
		return nil
	}
	s := AskCommerce(ctx, cfg)
	if s.Connected {
		return []Check{good(name, "%s", s.Sentence)}
	}
	return []Check{fail(name, s.Remedy, errors.New(s.Sentence))}
}
