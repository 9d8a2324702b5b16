package shop

import (
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// treasuryAccount is a till or a bank account of a company. Its balance is the sum of what was paid
// into it.
type treasuryAccount struct {
	scenario.TreasuryAccount
	company          *company
	metadata         value.Object
	created, updated value.Stamp
}

func (a *treasuryAccount) Key() string { return a.ID }

// treasuryFields are what a client may change.
type treasuryFields struct {
	Label    string       `json:"label"`
	Type     value.Text   `json:"type"`
	Code     value.Text   `json:"accounting_account_code"`
	Balance  value.Amount `json:"balance"`
	ShopID   value.Text   `json:"shop_id"`
	Metadata value.Object `json:"metadata"`
}

// treasuryView is the treasury account of the document.
type treasuryView struct {
	ID string `json:"id"`
	treasuryFields
	CompanyID string      `json:"company_id"`
	Shop      *shopView   `json:"shop"`
	LogoURL   value.Text  `json:"logoUrl"`
	Medias    []any       `json:"medias"`
	CreatedAt value.Stamp `json:"created_at"`
	UpdatedAt value.Stamp `json:"updated_at"`
}

func (a *treasuryAccount) fields() treasuryFields {
	return treasuryFields{a.Label, value.Text(a.Type), value.Text(a.AccountingAccountCode), a.Balance, value.Text(a.TreasuryAccount.Shop),
		a.metadata}
}

func (a *treasuryAccount) view() treasuryView {
	s, _ := a.company.shops.Get(a.TreasuryAccount.Shop)
	return treasuryView{ID: a.ID, treasuryFields: a.fields(), CompanyID: a.company.ID, Shop: s.view(), Medias: none,
		CreatedAt: a.created, UpdatedAt: a.updated}
}

// updateTreasury is PUT /admin/treasuryAccounts/{id}.
func (p *Platform) updateTreasury(c *call, body patch) (treasuryView, error) {
	a, ok := c.company.treasury.Get(c.path("id"))
	if !ok {
		return treasuryView{}, missing(c, "treasury account", c.path("id"))
	}
	next := a.fields()
	next.Metadata = nil
	if err := body.onto(&next); err != nil {
		return treasuryView{}, err
	}
	if next.Metadata == nil {
		next.Metadata = a.metadata
	}
	var f flaws
	f.require("label", next.Label)
	if _, ok := c.company.shops.Get(string(next.ShopID)); !ok && next.ShopID != "" {
		f.add("shop_id", "The company has no such shop.")
	}
	if err := f.err(); err != nil {
		return treasuryView{}, err
	}
	a.Label, a.Type, a.AccountingAccountCode = next.Label, string(next.Type), string(next.Code)
	a.Balance, a.TreasuryAccount.Shop, a.metadata, a.updated = next.Balance, string(next.ShopID), next.Metadata, c.now
	return a.view(), nil
}
