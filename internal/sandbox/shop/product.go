package shop

import (
	"encoding/json"
	"maps"
	"slices"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// product is a product with its variants. Price and stock come from the variants.
type product struct {
	scenario.Product
	company  *company
	variants []*variant
}

func newProduct(c *company, from scenario.Product, now value.Stamp) *product {
	from.CreatedAt = from.CreatedAt.Or(now)
	from.UpdatedAt = from.UpdatedAt.Or(from.CreatedAt)
	p := &product{Product: from, company: c}
	for i, v := range from.Variants {
		made := &variant{Variant: v, product: p, position: i + 1, stocks: map[string]int{}}
		for w, n := range v.Stocks {
			made.stocks[w] = n
		}
		p.variants = append(p.variants, made)
	}
	return p
}

func (p *product) Key() string { return p.ID }

// sells reports whether a shop sells the product. Without a shop it is sold.
func (p *product) sells(s *shop) bool {
	return s == nil || len(p.Shops) == 0 || slices.Contains(p.Shops, s.ID)
}

// price is the price of the cheapest variant, or 0.
func (p *product) price() value.Amount {
	var lowest value.Amount
	for i, v := range p.variants {
		if i == 0 || v.Price.LessThan(lowest.Decimal) {
			lowest = v.Price
		}
	}
	return lowest
}

// stock is the sum over the variants that follow stock.
func (p *product) stock(s *shop) int {
	sum := 0
	for _, v := range p.variants {
		if v.FollowStock {
			sum += v.quantity(s)
		}
	}
	return sum
}

// inStock reports whether a variant can be bought: one that does not follow stock, or has some.
func (p *product) inStock(s *shop) bool {
	return slices.ContainsFunc(p.variants, func(v *variant) bool { return !v.FollowStock || v.quantity(s) > 0 })
}

// productView is the product of the document. The members from Occurrence on are for statistics,
// the detail and include.
type productView struct {
	ID          string         `json:"id"`
	CompanyID   string         `json:"company_id"`
	Title       string         `json:"title"`
	Handle      string         `json:"handle"`
	Content     value.Text     `json:"content"`
	Type        value.Text     `json:"type"`
	Published   bool           `json:"published"`
	IsShippable bool           `json:"is_shippable"`
	IsTaxable   bool           `json:"is_taxable"`
	SupplierID  value.Text     `json:"supplier_id"`
	Vendor      value.Text     `json:"vendor"`
	Metadata    value.Object   `json:"metadata"`
	Medias      []any          `json:"medias"`
	Tags        []named        `json:"tags"`
	Taxes       []scenario.Tax `json:"taxes"`
	Discounts   []any          `json:"discounts"`
	CreatedAt   value.Stamp    `json:"created_at"`
	UpdatedAt   value.Stamp    `json:"updated_at"`
	DeletedAt   value.Stamp    `json:"deleted_at"`

	Occurrence  int              `json:"occurrence,omitempty"`
	FollowStock *bool            `json:"follow_stock,omitempty"`
	Remaining   []held           `json:"remaining_stocks,omitzero"`
	Variants    []variantView    `json:"variants,omitzero"`
	Collections []collectionView `json:"collections,omitzero"`
	Shops       []*shopView      `json:"shops,omitzero"`
	Options     []option         `json:"options,omitzero"`
	Supplier    json.RawMessage  `json:"supplier,omitempty"`
	Service     json.RawMessage  `json:"service,omitempty"`
}

// option is an option of a product with the values of its variants.
type option struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

func (p *product) view(in records.Includes) productView {
	v := productView{
		ID: p.ID, CompanyID: p.company.ID, Title: p.Title, Handle: p.Handle, Content: value.Text(p.Content), Type: value.Text(p.Type),
		Published: on(p.Published), IsShippable: p.IsShippable, IsTaxable: p.IsTaxable, Vendor: value.Text(p.Vendor), Metadata: p.Metadata,
		Medias: none, Tags: tags(p.Tags), Taxes: []scenario.Tax{}, Discounts: none, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
	for _, id := range p.Taxes {
		v.Taxes = append(v.Taxes, p.company.taxes[id])
	}
	stocks, quantities := in.Has("variants.stocks"), in.Has("variants.warehouseQuantities")
	if in.Has("variants") || stocks || quantities {
		v.Variants = []variantView{}
		for _, one := range p.variants {
			v.Variants = append(v.Variants, one.view(stocks, quantities))
		}
	}
	if in.Has("collections") {
		v.Collections = []collectionView{}
		for _, c := range p.company.Collections {
			if slices.Contains(p.Collections, c.ID) {
				v.Collections = append(v.Collections, viewCollection(c))
			}
		}
	}
	if in.Has("shops") {
		v.Shops = []*shopView{}
		for s := range p.company.shops.All() {
			if p.sells(s) {
				v.Shops = append(v.Shops, s.view())
			}
		}
	}
	if in.Has("options") {
		v.Options = p.options()
	}
	if in.Has("supplier") { // the scenario has none
		v.Supplier = json.RawMessage("null")
	}
	if in.Has("service.professionals") {
		v.Service = json.RawMessage("null")
		if p.Type == "services" {
			v.Service = json.RawMessage(`{"professionals":[]}`)
		}
	}
	return v
}

// options are the options of the variants, by name.
func (p *product) options() []option {
	values := map[string][]string{}
	for _, v := range p.variants {
		for name, value := range v.Options {
			if !slices.Contains(values[name], value) {
				values[name] = append(values[name], value)
			}
		}
	}
	all := []option{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, option{name, values[name]})
	}
	return all
}

// detail is the view with what only the detail shows.
func (p *product) detail(c *call) (productView, error) {
	in, err := productList(c).Included(c.asked())
	if err != nil {
		return productView{}, err
	}
	v := p.view(in)
	follows := slices.ContainsFunc(p.variants, func(v *variant) bool { return v.FollowStock })
	v.FollowStock, v.Remaining = &follows, p.remaining(c.shop)
	return v, nil
}

// remaining is what is left in each warehouse of the shop, or of the company.
func (p *product) remaining(s *shop) []held {
	all := []held{}
	for _, w := range p.company.warehouses(s) {
		sum := 0
		for _, v := range p.variants {
			if v.FollowStock {
				sum += v.stocks[w.ID]
			}
		}
		all = append(all, held{w.ID, sum})
	}
	return all
}
