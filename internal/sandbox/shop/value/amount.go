package value

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"
)

// Amount is a sum of money, a rate or a quantity of money per unit. In JSON it is written as a
// number, and read from a number or a string. In a scenario it is text.
type Amount struct {
	decimal.Decimal
	Text string // of a scenario; "" if it does not name the amount
}

// amountForm has no exponent and few digits, so that no input costs much memory or time.
var amountForm = regexp.MustCompile(`^[+-]?[0-9]{1,15}(\.[0-9]{1,10})?$`)

// ParseAmount reads an amount. An empty text is 0.
func ParseAmount(text string) (Amount, error) {
	if text == "" {
		return Amount{}, nil
	}
	if !amountForm.MatchString(text) {
		return Amount{}, fmt.Errorf("%.60q is not an amount such as 19.99", text)
	}
	d, err := decimal.NewFromString(text)
	return Amount{Decimal: d}, err
}

// UnmarshalText reads the amount of a scenario. Validate names a wrong one, with its path.
func (a *Amount) UnmarshalText(text []byte) error {
	*a, _ = ParseAmount(string(text))
	a.Text = string(text)
	return nil
}

// UnmarshalJSON reads a number or a string. The error lets the decoder name the member.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text == "null" {
		return nil
	}
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
		text = strings.TrimSpace(text)
	}
	parsed, err := ParseAmount(text)
	if err != nil || text == "" {
		return wrongType[Amount]()
	}
	*a = parsed
	return nil
}

// wrongType is the error of a value that T does not take. The decoder adds the member's name.
func wrongType[T any]() error {
	return &json.UnmarshalTypeError{Value: "value", Type: reflect.TypeFor[T]()}
}

// MarshalJSON writes a number.
func (a Amount) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// Flaw says why the text of the scenario is not an amount, or is "".
func (a Amount) Flaw() string {
	if _, err := ParseAmount(a.Text); err != nil {
		return err.Error()
	}
	return ""
}

// Coordinate is a latitude or a longitude. In an answer it is null if it was not given.
type Coordinate struct{ Amount }

// UnmarshalJSON reads a number or a string, as Amount does.
func (c *Coordinate) UnmarshalJSON(raw []byte) error {
	if err := c.Amount.UnmarshalJSON(raw); err != nil || string(raw) == "null" {
		return err
	}
	c.Text = c.String()
	return nil
}

// MarshalJSON writes a number, or null.
func (c Coordinate) MarshalJSON() ([]byte, error) {
	if c.Text == "" {
		return []byte("null"), nil
	}
	return c.Amount.MarshalJSON()
}

// Digits is the number of digits after the point of a currency (docs/commerce.md#assumptions).
func Digits(currency string) int32 {
	switch currency {
	case "XAF", "XOF", "JPY":
		return 0
	}
	return 2
}

// Fits reports whether the amount has no more decimals than the currency.
func (a Amount) Fits(currency string) bool { return a.Equal(a.Truncate(Digits(currency))) }
