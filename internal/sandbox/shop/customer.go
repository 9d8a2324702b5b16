package shop

import (
	"strings"

	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// customer is a customer of a company.
type customer struct {
	scenario.Customer
	company      *company
	medias       value.Values
	birthdate    value.Text
	gender       value.Text
	companyName  value.Text
	taxNumber    value.Text
	registration value.Text
	custom       value.Values
	updated      value.Stamp
	lastActivity value.Stamp
}

func newCustomer(c *company, from scenario.Customer, now value.Stamp) *customer {
	from.CreatedAt = from.CreatedAt.Or(now)
	return &customer{Customer: from, company: c, updated: from.CreatedAt}
}

func (c *customer) Key() string { return c.ID }

// profile is what a customer may change.
type profile struct {
	FirstName          string       `json:"first_name"`
	LastName           string       `json:"last_name"`
	Email              string       `json:"email"`
	Phone              string       `json:"phone"`
	PreferredLanguage  string       `json:"preferred_language"`
	Birthdate          value.Text   `json:"birthdate"`
	Gender             value.Text   `json:"gender"`
	CompanyName        value.Text   `json:"company_name"`
	TaxNumber          value.Text   `json:"tax_number"`
	RegistrationNumber value.Text   `json:"registration_number"`
	CustomFields       value.Values `json:"custom_fields"`
	Metadata           value.Object `json:"metadata"`
}

func (c *customer) profile() profile {
	return profile{
		FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, PreferredLanguage: c.PreferredLanguage,
		Birthdate: c.birthdate, Gender: c.gender, CompanyName: c.companyName, TaxNumber: c.taxNumber,
		RegistrationNumber: c.registration, CustomFields: c.custom, Metadata: c.Metadata,
	}
}

// change takes over a profile.
func (c *customer) change(to profile, now value.Stamp) {
	c.FirstName, c.LastName, c.Email, c.Phone, c.PreferredLanguage = to.FirstName, to.LastName, to.Email, to.Phone, to.PreferredLanguage
	c.birthdate, c.gender, c.companyName, c.taxNumber = to.Birthdate, to.Gender, to.CompanyName, to.TaxNumber
	c.registration, c.custom, c.Metadata, c.updated = to.RegistrationNumber, to.CustomFields, to.Metadata, now
}

// customerView is the customer of the document. The last three members are for statistics.
type customerView struct {
	ID                 string       `json:"id"`
	CompanyID          string       `json:"company_id"`
	FirstName          value.Text   `json:"first_name"`
	LastName           value.Text   `json:"last_name"`
	Email              value.Text   `json:"email"`
	Phone              value.Text   `json:"phone"`
	Type               string       `json:"type"`
	Birthdate          value.Text   `json:"birthdate"`
	Gender             value.Text   `json:"gender"`
	CompanyName        value.Text   `json:"company_name"`
	TaxNumber          value.Text   `json:"tax_number"`
	RegistrationNumber value.Text   `json:"registration_number"`
	PreferredLanguage  value.Text   `json:"preferred_language"`
	CustomFields       value.Values `json:"custom_fields"`
	Medias             value.Values `json:"medias"`
	Metadata           value.Object `json:"metadata"`
	Tags               []named      `json:"tags"`
	DefaultAddress     *addressView `json:"default_address"`
	LastActivity       value.Stamp  `json:"last_activity"`
	CreatedAt          value.Stamp  `json:"created_at"`
	UpdatedAt          value.Stamp  `json:"updated_at"`
	DeletedAt          value.Stamp  `json:"deleted_at"`

	Addresses []addressView `json:"addresses,omitzero"` // of the storefront, as contacts
	Contacts  []any         `json:"contacts,omitzero"`

	OrdersCount     *int          `json:"orders_count,omitempty"`
	QuantityOrdered *int          `json:"quantity_ordered,omitempty"`
	TotalSpent      *value.Amount `json:"total_spent,omitempty"`
}

// view shows a customer as an admin route does.
func (c *customer) view() customerView {
	v := customerView{
		ID: c.ID, CompanyID: c.company.ID, FirstName: value.Text(c.FirstName), LastName: value.Text(c.LastName), Email: value.Text(c.Email),
		Phone: value.Text(c.Phone), Type: "individual", Birthdate: c.birthdate, Gender: c.gender, CompanyName: c.companyName,
		TaxNumber: c.taxNumber, RegistrationNumber: c.registration, PreferredLanguage: value.Text(c.PreferredLanguage),
		CustomFields: c.custom, Medias: c.medias, Metadata: c.Metadata, Tags: tags(c.Tags), LastActivity: c.lastActivity,
		CreatedAt: c.CreatedAt, UpdatedAt: c.updated,
	}
	if a := c.primary(); a != nil {
		shown := a.view()
		v.DefaultAddress = &shown
	}
	return v
}

// storefront shows a customer to itself, with its addresses.
func (c *customer) storefront() customerView {
	v := c.view()
	v.Addresses, v.Contacts = []addressView{}, none
	for _, a := range c.addresses() {
		v.Addresses = append(v.Addresses, a.view())
	}
	return v
}

// holder finds the customer with this e-mail address, or else the one with this phone number. If
// several have it, the first one in the table is found.
func (c *company) holder(email, phone string) *customer {
	if found := c.customerWith(email, (*customer).email); found != nil {
		return found
	}
	return c.customerWith(phone, (*customer).phone)
}

func (c *customer) email() string { return strings.ToLower(strings.TrimSpace(c.Email)) }
func (c *customer) phone() string { return strings.ToLower(strings.TrimSpace(c.Phone)) }

// customerWith finds a customer by an e-mail address or a phone number. A generated customer is
// found by the number in it.
func (c *company) customerWith(text string, of func(*customer) string) *customer {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return nil
	}
	if i := numberIn(text); i >= 0 && i < c.customers.Made.Size {
		if r := c.customers.Made.At(i); of(r) == text {
			return r
		}
	}
	for r := range c.customers.Stored() {
		if of(r) == text {
			return r
		}
	}
	return nil
}
