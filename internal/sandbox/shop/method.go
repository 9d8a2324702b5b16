package shop

import (
	"maps"
	"strings"
)

// method is a payment method of a company.
type method struct {
	PaymentMethod
	company *company
}

func (m *method) key() string { return m.ID }

// methodView is the payment method of the document, as a storefront sees it.
type methodView struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Processor         string `json:"processor"`
	Status            bool   `json:"status"`
	AccountID         Text   `json:"account_id"`
	TreasuryAccountID Text   `json:"treasury_account_id"`
	Metadata          object `json:"metadata"`
	Configurations    object `json:"configurations"`
	CompanyID         string `json:"company_id"`
}

func (m *method) view() methodView {
	return methodView{
		ID: m.ID, Name: m.Name, Processor: m.Processor, Status: on(m.Status), AccountID: Text(m.TreasuryAccount),
		TreasuryAccountID: Text(m.TreasuryAccount), Configurations: masked(m.Configurations), CompanyID: m.company.ID,
	}
}

// masked hides every value of a configuration that may be secret: all but the type and what is
// called public.
func masked(from map[string]any) object {
	out := object(maps.Clone(from))
	for name := range out {
		if name != "type" && !strings.Contains(strings.ToLower(name), "public") {
			out[name] = "********"
		}
	}
	return out
}
