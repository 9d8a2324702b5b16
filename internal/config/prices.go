package config

import (
	"fmt"

	"campaignd/campaign/price"
)

// Rates reads the rates of prices; nil if there are none. An error names the key.
func (c *Config) Rates() (*price.Rates, error) {
	if c.Prices == "" {
		return nil, nil
	}
	rates, err := price.Read(c.Prices)
	if err != nil {
		return nil, fmt.Errorf("prices: %w; the form of the file: docs/forecast.md#cost", err)
	}
	return rates, nil
}

// checkPrices refuses a file of rates that cannot be read.
func (c *Config) checkPrices() error {
	_, err := c.Rates()
	return err
}
