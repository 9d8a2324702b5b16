package campaign_test

import (
	"fmt"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/throttle"
)

// A rate that the limiter refuses would hold up every run of the number: what is accepted can be leased.
func TestARateThatCannotBeLeasedIsRefused(t *testing.T) {
	for _, rate := range []string{"1.0e-9", "9.9e-7", "0.0000001", "0", "-0.0", "-1", "-1.0e-9", "10001", "1.0e+300"} {
		_, err := campaign.ParseDefinition("c.yaml", []byte(minimal+"limits: {rate: "+rate+"}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:4:10: limits.rate: ") || !strings.Contains(err.Error(), "; remove it for no limit") {
			t.Errorf("rate %s: %v, want its place, the key and a remedy", rate, err)
		}
	}
	for _, rate := range []string{".nan", ".inf", "-.inf", "1.0e+309"} {
		_, err := campaign.ParseDefinition("c.yaml", []byte(minimal+"limits: {rate: "+rate+"}\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "c.yaml:4:") || !strings.Contains(err.Error(), "limits.rate: ") {
			t.Errorf("rate %s: %v, want its place and the key", rate, err)
		}
	}
	for _, rate := range []string{"0.000001", "0.5", "40", "10000"} {
		d := parse(t, minimal+"limits: {rate: "+rate+"}\n")
		if _, err := throttle.NewLocal().Lease(t.Context(), "run:c-1", d.Limits.Rate, 1); err != nil {
			t.Errorf("rate %s is accepted and cannot be leased: %v", rate, err)
		}
	}
	_, err := campaign.ParseDefinition("c.yaml", []byte(minimal+"limits: {rate: 1.0e-9}\n"))
	if want := "c.yaml:4:10: limits.rate: 1e-09 messages per second; want 0.000001 (one in 12 days) to 10000; remove it for no limit of the campaign's own"; fmt.Sprint(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
