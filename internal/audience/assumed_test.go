package audience

import (
	"strings"
	"testing"

	"campaignd/campaign/file"
)

func TestEachAudienceNamesWhatItAssumes(t *testing.T) {
	for from, want := range map[string]string{
		file.FromTopCustomers: "company_header",
		file.FromCustomers:    "company_header customers_path page_size_parameter",
		file.FromUnpaidOrders: "company_header orders_path page_size_parameter",
		file.FromPayments:     "company_header orders_path page_size_parameter type_filter",
	} {
		keys := assumedFor(from)
		for i, key := range keys {
			keys[i] = strings.TrimPrefix(key, "commerce.assumed.")
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
}
