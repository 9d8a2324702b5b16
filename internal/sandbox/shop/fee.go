package shop

import (
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// fee is a shipping fee.
type fee struct {
	scenario.ShippingFee
	company *company
}

// pickup is a pickup location: it has all that a fee has, and an address.
type pickup struct {
	*fee
	address scenario.Address
}

func newFee(c *company, from scenario.ShippingFee, now value.Stamp) *fee {
	from.CreatedAt = from.CreatedAt.Or(now)
	from.UpdatedAt = from.UpdatedAt.Or(from.CreatedAt)
	return &fee{from, c}
}

func (f *fee) Key() string { return f.ID }

// applies reports whether the fee is offered in a shop: one without shop and warehouses everywhere.
func (f *fee) applies(s *shop) bool {
	if s == nil {
		return true
	}
	here := f.Shop == "" || f.Shop == s.ID
	return here && (len(f.Warehouses) == 0 ||
		slices.ContainsFunc(s.warehouses(), func(id string) bool { return slices.Contains(f.Warehouses, id) }))
}

// feeView is the shipping fee of the document.
type feeView struct {
	ID           string               `json:"id"`
	Name         string               `json:"name"`
	Type         string               `json:"type"`
	Amount       value.Amount         `json:"amount"`
	Active       bool                 `json:"active"`
	ShopID       value.Text           `json:"shop_id"`
	Shop         *shopView            `json:"shop"`
	Warehouses   []scenario.Warehouse `json:"warehouses"`
	WarehouseIDs []string             `json:"warehouse_ids"`
	Metadata     value.Object         `json:"metadata"`
	CreatedAt    value.Stamp          `json:"created_at"`
	UpdatedAt    value.Stamp          `json:"updated_at"`
}

// pickupView is the pickup location of the document.
type pickupView struct {
	feeView
	Address     scenario.Address `json:"address"`
	FullAddress string           `json:"full_address"`
}

func (f *fee) view() feeView {
	v := feeView{
		ID: f.ID, Name: f.Name, Type: "fixed", Amount: f.Amount, Active: on(f.Active), ShopID: value.Text(f.Shop),
		Warehouses: []scenario.Warehouse{}, WarehouseIDs: []string{}, Metadata: f.Metadata, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
	s, _ := f.company.shops.Get(f.Shop)
	v.Shop = s.view()
	for _, w := range f.company.warehouses(nil) {
		if slices.Contains(f.Warehouses, w.ID) {
			v.Warehouses, v.WarehouseIDs = append(v.Warehouses, w), append(v.WarehouseIDs, w.ID)
		}
	}
	return v
}

func (l *pickup) view() pickupView {
	a := l.address
	var parts []string
	for _, t := range []value.Text{a.Line1, a.Line2, a.City, a.State, a.PostalCode, a.Country} {
		if t != "" {
			parts = append(parts, string(t))
		}
	}
	return pickupView{l.fee.view(), a, strings.Join(parts, ", ")}
}

// feeList is the list of shipping fees for a request.
func feeList(c *call) *records.List[*fee] {
	return &records.List[*fee]{
		Filters: map[string]records.Filter[*fee]{
			"active":     records.Flag(func(f *fee) bool { return on(f.Active) }),
			"search":     records.Searching(func(f *fee) []string { return []string{f.Name} }),
			"created_at": records.Between(func(f *fee) value.Stamp { return f.CreatedAt }),
			"updated_at": records.Between(func(f *fee) value.Stamp { return f.UpdatedAt }),
		},
		Sorts: map[string]func(a, b *fee) int{
			"name":         records.ByFold(func(f *fee) string { return f.Name }),
			"orders_count": byCount(c.company.ordersByFee, (*fee).Key),
		},
		View: func(f *fee, _ records.Includes) any { return f.view() },
	}
}

var pickupList = records.List[*pickup]{
	Filters: map[string]records.Filter[*pickup]{
		"active": records.Flag(func(l *pickup) bool { return on(l.Active) }),
		"search": records.Searching(func(l *pickup) []string {
			return []string{l.Name, string(l.address.Line1), string(l.address.City)}
		}),
		"shop": func(v records.Criterion) (func(*pickup) bool, error) {
			return func(l *pickup) bool { return l.Shop == "" || l.Shop == v.Value }, nil
		},
	},
	View: func(l *pickup, _ records.Includes) any { return l.view() },
}

// listFees is GET /shipping-fees, of the active shop.
func (p *Platform) listFees(c *call) (records.Page, error) {
	return feeList(c).Page(c.asked(), records.Where(&c.company.fees, func(f *fee) bool { return f.applies(c.shop) }))
}

// listPickups is GET /pickup-locations, of the active shop.
func (p *Platform) listPickups(c *call) (records.Page, error) {
	return pickupList.Page(c.asked(), records.Where(&c.company.pickups, func(l *pickup) bool { return l.applies(c.shop) }))
}
