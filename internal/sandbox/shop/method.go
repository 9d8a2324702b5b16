package shop

import (
	"maps"
	"strings"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// method is a payment method of a company.
type method struct {
	scenario.PaymentMethod
	company *company
}

func (m *method) Key() string { return m.ID }

// methodView is the payment method of the document, as a storefront sees it.
type methodView struct {
	ID                string       `json:"id"`
	Name              string       `json:"name"`
	Processor         string       `json:"processor"`
	Status            bool         `json:"status"`
	AccountID         value.Text   `json:"account_id"`
	TreasuryAccountID value.Text   `json:"treasury_account_id"`
	Metadata          value.Object `json:"metadata"`
	Configurations    value.Object `json:"configurations"`
	CompanyID         string       `json:"company_id"`
}

func (m *method) view() methodView {
	return methodView{
		ID: m.ID, Name: m.Name, Processor: m.Processor, Status: on(m.Status), AccountID: value.Text(m.TreasuryAccount),
		TreasuryAccountID: value.Text(m.TreasuryAccount), Configurations: masked(m.Configurations), CompanyID: m.company.ID,
	}
}

// masked hides every value of a configuration that may be secret: all but the type and what is
// called public.
func masked(from map[string]any) value.Object {
	out := value.Object(maps.Clone(from))
	for name := range out {
		if name != "type" && !strings.Contains(strings.ToLower(name), "public") {
			out[name] = "********"
		}
	}
	return out
}
