package doctor

import (
	"cmp"
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
	// Code is why not, or why the orders cannot be read: a code of docs/commerce.md#errors,
	// not_configured or broken; "" if all can be read.
	Code string `json:"code,omitempty"`
	// Sentence says it to a person, without a full stop.
	Sentence string `json:"sentence"`
	// Remedy is what to do; "" if connected and nothing is wrong.
	Remedy string `json:"remedy,omitempty"`
	// Orders says what is wrong with the newest orders, without a full stop; "" if nothing is.
	Orders string `json:"orders,omitempty"`
}

// AskCommerce asks the platform for the company, a payment and the newest orders. It blocks for at
// most as long as the client repeats its requests, and changes nothing.
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
	s := CommerceStatus{Connected: true, Sentence: fmt.Sprintf("%s answers for the company %s with the %s",
		cfg.Commerce.BaseURL, messaging.Scrub(company.Name, 80), with)}
	s.Orders, s.Remedy, s.Code = newestOrders(ctx, client)
	return s
}

// newestOrders reads at most as many orders as a page has, and says what is wrong with them, and
// what to do; "" if nothing is. The code is of a fault that hides all orders.
func newestOrders(ctx context.Context, client *commerce.Client) (what, remedy, code string) {
	const most = 100
	read, unread := 0, 0
	var first *commerce.RecordError
	for _, err := range client.Orders(ctx, commerce.OrderQuery{Sort: "-updated_at", Customer: true}) {
		odd, ofOne := errors.AsType[*commerce.RecordError](err)
		switch {
		case ofOne:
			if unread++; first == nil {
				first = odd
			}
		case err != nil:
			s := faultOfCommerce(err)
			return "its orders cannot be read: " + s.Sentence, s.Remedy, s.Code
		}
		if read++; read == most {
			break
		}
	}
	if unread == 0 {
		return "", "", ""
	}
	what = fmt.Sprintf("%d of its %d newest orders cannot be read and count for no campaign", unread, read)
	if first.ID != "" {
		what += ", such as " + first.ID
	}
	return what, "correct them at the platform, or report them to it", ""
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
		return CommerceStatus{Code: string(code), Sentence: code.Sentence(), Remedy: cmp.Or(messaging.Untrusted(err), code.Remedy())}
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
	switch {
	case s.Connected && s.Code != "":
		return []Check{fail(name, s.Remedy, errors.New(s.Sentence+", and "+s.Orders))}
	case s.Connected && s.Orders != "":
		return []Check{warn(name, s.Remedy, "%s, and %s", s.Sentence, s.Orders)}
	case s.Connected:
		return []Check{good(name, "%s", s.Sentence)}
	}
	return []Check{fail(name, s.Remedy, errors.New(s.Sentence))}
}
