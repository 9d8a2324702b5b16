package operator_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/internal/client/resource"
	"campaignd/internal/ledger"
	"campaignd/internal/ledger/sqlite"
	"campaignd/internal/operator"
)

// An empty page says that there are no such rows. A filter that no row can match is refused.
func TestAFilterThatNothingCanMatchIsRefused(t *testing.T) {
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), ledger.Options{Sender: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := runOf(t, l, "conn_1", 2348030000001, 2348030000002, 2348030000001)
	d := &operator.Session{Ledger: l}
	for _, c := range []struct {
		filter resource.DeliveryFilter
		want   string // a part of the error; "": it is accepted
	}{
		{resource.DeliveryFilter{Status: "skippd"}, `unknown status "skippd"; did you mean "skipped"?`},
		{resource.DeliveryFilter{Reason: "duplicated"}, `no row is skipped for "duplicated"; did you mean "duplicate"?`},
		{resource.DeliveryFilter{Reason: "131049"}, "A code of failed rows is given as code"},
		{resource.DeliveryFilter{Status: campaign.Skipped, Reason: "nothing"}, `"nothing"; known here: malformed_row, missing_phone, `},
		{resource.DeliveryFilter{Status: campaign.Failed, Reason: "131049"}, "give code instead of reason"},
		{resource.DeliveryFilter{Status: campaign.Delivered, Reason: "duplicate"}, "delivered rows have no reason"},
		{resource.DeliveryFilter{Status: campaign.Skipped, Code: "duplicate"}, "only failed and refused rows have a code"},
		{resource.DeliveryFilter{Code: "duplicate"}, "give reason=duplicate"},
		{resource.DeliveryFilter{Code: "131049", Reason: "duplicate"}, "a reason or a code and never both"},
		{resource.DeliveryFilter{Connection: "conn1"}, `does not use the connection "conn1"; did you mean "conn_1"?`},
		{resource.DeliveryFilter{Reason: "duplicate", Connection: "conn_1"}, ""},
		{resource.DeliveryFilter{Status: campaign.Skipped, Reason: "duplicate"}, ""},
		{resource.DeliveryFilter{Status: campaign.InDoubt, Reason: "time_out"}, ""},
		{resource.DeliveryFilter{Status: campaign.Queued, Reason: "a_code_of_tomorrow"}, ""},
		{resource.DeliveryFilter{Code: "999999"}, ""},
	} {
		_, err := d.Deliveries(t.Context(), r.ID(), c.filter)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%+v: got %v, want a page", c.filter, err)
		case c.want != "" && (!errors.Is(err, operator.ErrInvalid) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%+v: got %v, want a refusal with %q", c.filter, err, c.want)
		}
	}
}
