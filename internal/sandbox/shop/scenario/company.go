package scenario

import "campaignd/internal/sandbox/shop/value"

// Company is a company of a scenario. Every id is a ULID that is used once in the scenario.
type Company struct {
	ID          string   `yaml:"id" check:"id"`
	Name        string   `yaml:"name" check:"required"`
	Handle      string   `yaml:"handle" check:"required"`
	CompanyCode string   `yaml:"company_code"`
	Type        string   `yaml:"type"`
	Domains     []string `yaml:"domains" check:"unique"` // the first is the main one
	// Currency may be empty; orders then have the currency of their shop, or XAF.
	Currency         string            `yaml:"currency" check:"currency"`
	Currencies       []Currency        `yaml:"currencies"`
	Address          Address           `yaml:"address"`
	PaymentMethods   []PaymentMethod   `yaml:"payment_methods"`
	TreasuryAccounts []TreasuryAccount `yaml:"treasury_accounts"`
	Shops            []Shop            `yaml:"shops"`
	Collections      []Collection      `yaml:"collections"`
	Taxes            []Tax             `yaml:"taxes"`
	Products         []Product         `yaml:"products"`
	Customers        []Customer        `yaml:"customers"`
	Discounts        []Discount        `yaml:"discounts"`
	ShippingFees     []ShippingFee     `yaml:"shipping_fees"`
	PickupLocations  []PickupLocation  `yaml:"pickup_locations"`
	Keys             []Key             `yaml:"keys"`
	Tokens           []Token           `yaml:"tokens"`
	Webhooks         []Webhook         `yaml:"webhooks"`
	Generate         Generate          `yaml:"generate"`
}

// Currency is a further currency and its rate.
type Currency struct {
	Code  string       `yaml:"code" json:"code" check:"currency required"`
	Label string       `yaml:"label" json:"label"`
	Value value.Amount `yaml:"value" json:"value"`
}

// PaymentMethod is a way to pay. Status and Links default to true.
type PaymentMethod struct {
	ID              string       `yaml:"id" check:"id"`
	Name            string       `yaml:"name" check:"required"`
	Processor       string       `yaml:"processor" check:"required"`
	Status          *bool        `yaml:"status"`
	Links           *bool        `yaml:"links"` // whether it makes payment links
	TreasuryAccount string       `yaml:"treasury_account" check:"treasury_account"`
	Configurations  value.Object `yaml:"configurations"`
}

// TreasuryAccount is a till or a bank account.
type TreasuryAccount struct {
	ID                    string       `yaml:"id" check:"id"`
	Label                 string       `yaml:"label" check:"required"`
	Type                  string       `yaml:"type"`
	AccountingAccountCode string       `yaml:"accounting_account_code"`
	Balance               value.Amount `yaml:"balance"`
	Shop                  string       `yaml:"shop" check:"shop"`
}

// Shop is a shop of the company. Currency defaults to the company's.
type Shop struct {
	ID          string       `yaml:"id" check:"id"`
	Name        string       `yaml:"name" check:"required"`
	Slug        string       `yaml:"slug" check:"required sole"`
	Description string       `yaml:"description"`
	Currency    string       `yaml:"currency" check:"currency"`
	Warehouses  []Warehouse  `yaml:"warehouses"`
	Metadata    value.Object `yaml:"metadata"`
	CreatedAt   value.Stamp  `yaml:"created_at"`
}

// Warehouse keeps stock of a shop.
type Warehouse struct {
	ID          string `yaml:"id" json:"id" check:"id"`
	Name        string `yaml:"name" json:"name" check:"required"`
	Description string `yaml:"description" json:"description"`
}

// Collection is a group of products.
type Collection struct {
	ID   string `yaml:"id" check:"id"`
	Name string `yaml:"name" check:"required"`
	Slug string `yaml:"slug" check:"required sole"`
}

// Tax is a percentage. A negative one reduces what is paid.
type Tax struct {
	ID   string       `yaml:"id" json:"id" check:"id"`
	Name string       `yaml:"name" json:"name" check:"required"`
	Rate value.Amount `yaml:"rate" json:"rate"`
}

// Product is a product with its variants. Published defaults to true.
type Product struct {
	ID          string       `yaml:"id" check:"id"`
	Title       string       `yaml:"title" check:"required"`
	Handle      string       `yaml:"handle" check:"required sole"`
	Content     string       `yaml:"content"`
	Type        string       `yaml:"type"`
	Vendor      string       `yaml:"vendor"`
	Published   *bool        `yaml:"published"`
	IsTaxable   bool         `yaml:"is_taxable"`
	IsShippable bool         `yaml:"is_shippable"`
	Tags        []string     `yaml:"tags"`
	Taxes       []string     `yaml:"taxes" check:"tax"`
	Collections []string     `yaml:"collections" check:"collection"`
	Shops       []string     `yaml:"shops" check:"shop"` // none: all
	Metadata    value.Object `yaml:"metadata"`
	CreatedAt   value.Stamp  `yaml:"created_at"`
	UpdatedAt   value.Stamp  `yaml:"updated_at"`
	Variants    []Variant    `yaml:"variants"`
}

// Variant is what is bought. Taxable defaults to true.
type Variant struct {
	ID             string            `yaml:"id" check:"id"`
	Title          string            `yaml:"title" check:"required"`
	SKU            string            `yaml:"sku"`
	Barcode        string            `yaml:"barcode"`
	Price          value.Amount      `yaml:"price" check:"given natural"`
	CompareAtPrice value.Amount      `yaml:"compare_at_price" check:"natural"`
	Taxable        *bool             `yaml:"taxable"`
	FollowStock    bool              `yaml:"follow_stock"`
	Stocks         map[string]int    `yaml:"stocks" check:"warehouse natural"`
	Options        map[string]string `yaml:"options"`
}

// Customer is a customer. Several may share a phone number or an e-mail address, and a phone number
// is any text.
type Customer struct {
	ID                string       `yaml:"id" check:"id"`
	FirstName         string       `yaml:"first_name"`
	LastName          string       `yaml:"last_name"`
	Email             string       `yaml:"email"`
	Phone             string       `yaml:"phone"`
	Password          string       `yaml:"password"`
	PreferredLanguage string       `yaml:"preferred_language"`
	Tags              []string     `yaml:"tags"`
	Metadata          value.Object `yaml:"metadata"`
	CreatedAt         value.Stamp  `yaml:"created_at"`
}

// Discount is a discount of an order or of a product's line. Active defaults to true, Type to
// percentage, Level to order.
type Discount struct {
	ID        string       `yaml:"id" check:"id"`
	Code      string       `yaml:"code"`
	Name      string       `yaml:"name" check:"required"`
	Type      string       `yaml:"type" check:"percentage|fixed"`
	Value     value.Amount `yaml:"value" check:"natural"`
	Level     string       `yaml:"level" check:"order|product"`
	Automatic bool         `yaml:"automatic"`
	Active    *bool        `yaml:"active"`
	StartsAt  value.Stamp  `yaml:"starts_at"`
	EndsAt    value.Stamp  `yaml:"ends_at"`
	Customers []string     `yaml:"customers" check:"customer"` // none: all
}

// ShippingFee is a flat fee of a delivery. Without shop and warehouses it applies everywhere.
// Active defaults to true.
type ShippingFee struct {
	ID         string       `yaml:"id" check:"id"`
	Name       string       `yaml:"name" check:"required"`
	Amount     value.Amount `yaml:"amount" check:"natural"`
	Active     *bool        `yaml:"active"`
	Shop       string       `yaml:"shop" check:"shop"`
	Warehouses []string     `yaml:"warehouses" check:"warehouse"`
	Metadata   value.Object `yaml:"metadata"`
	CreatedAt  value.Stamp  `yaml:"created_at"`
	UpdatedAt  value.Stamp  `yaml:"updated_at"`
}

// PickupLocation is a place where customers fetch what they bought.
type PickupLocation struct {
	ShippingFee `yaml:",inline"`
	Address     Address `yaml:"address"`
}

// Address is a postal address, in a scenario, a body and an answer.
type Address struct {
	FirstName  value.Text       `yaml:"first_name" json:"first_name"`
	LastName   value.Text       `yaml:"last_name" json:"last_name"`
	Company    value.Text       `yaml:"company" json:"company"`
	Email      value.Text       `yaml:"email" json:"email"`
	Phone      value.Text       `yaml:"phone" json:"phone"`
	Line1      value.Text       `yaml:"line1" json:"line1"`
	Line2      value.Text       `yaml:"line2" json:"line2"`
	City       value.Text       `yaml:"city" json:"city"`
	State      value.Text       `yaml:"state" json:"state"`
	PostalCode value.Text       `yaml:"postal_code" json:"postal_code"`
	Country    value.Text       `yaml:"country" json:"country"`
	Latitude   value.Coordinate `yaml:"latitude" json:"latitude"`
	Longitude  value.Coordinate `yaml:"longitude" json:"longitude"`
	Label      value.Text       `yaml:"label" json:"label"`
	IsBilling  bool             `yaml:"is_billing" json:"is_billing"`
	IsShipping bool             `yaml:"is_shipping" json:"is_shipping"`
	IsPrimary  bool             `yaml:"is_primary" json:"is_primary"`
	Metadata   value.Object     `yaml:"metadata" json:"metadata"`
}
