package shop

import (
	"cmp"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// shop is a shop of a company.
type shop struct {
	scenario.Shop
	company *company
}

func newShop(c *company, s scenario.Shop, now value.Stamp) *shop {
	s.CreatedAt = s.CreatedAt.Or(now)
	s.Currency = cmp.Or(s.Currency, c.Currency)
	return &shop{s, c}
}

func (s *shop) Key() string { return s.ID }

// warehouses are the ids of the shop's warehouses.
func (s *shop) warehouses() []string {
	var ids []string
	for _, w := range s.Warehouses {
		ids = append(ids, w.ID)
	}
	return ids
}

// shopView is the shop of the document.
type shopView struct {
	ID           string               `json:"id"`
	Name         string               `json:"name"`
	Slug         string               `json:"slug"`
	Description  value.Text           `json:"description"`
	CurrencyCode value.Text           `json:"currency_code"`
	CurrencyName value.Text           `json:"currency_name"`
	Address      any                  `json:"address"`
	Warehouses   []scenario.Warehouse `json:"warehouses"`
	Domains      []website            `json:"domains"`
	LogoURL      value.Text           `json:"logoUrl"`
	Logo         any                  `json:"logo"`
	Metadata     value.Object         `json:"metadata"`
	CompanyID    string               `json:"company_id"`
	CreatedAt    value.Stamp          `json:"created_at"`
}

// view is nil for no shop.
func (s *shop) view() *shopView {
	if s == nil {
		return nil
	}
	v := &shopView{
		ID: s.ID, Name: s.Name, Slug: s.Slug, Description: value.Text(s.Description), CurrencyCode: value.Text(s.Currency),
		CurrencyName: value.Text(s.Currency), Warehouses: slices.Clone(s.Warehouses), Domains: []website{}, Metadata: s.Metadata,
		CompanyID: s.company.ID, CreatedAt: s.CreatedAt,
	}
	if v.Warehouses == nil {
		v.Warehouses = []scenario.Warehouse{}
	}
	for i, d := range s.company.Domains {
		v.Domains = append(v.Domains, website{s.company.ID, d, i == 0, true})
	}
	return v
}

var shopList = records.List[*shop]{
	Filters: map[string]records.Filter[*shop]{
		"search": records.Searching(func(s *shop) []string { return []string{s.Name, s.Slug, s.Description} }),
	},
	Sorts: map[string]func(a, b *shop) int{
		"name":          records.ByFold(func(s *shop) string { return s.Name }),
		"currency_code": records.By(func(s *shop) string { return s.Currency }),
		records.Birth:   records.ByTime(func(s *shop) value.Stamp { return s.CreatedAt }),
	},
	View: func(s *shop, _ records.Includes) any { return s.view() },
}

// count is the answer of the routes that count.
type count struct {
	Count int `json:"count"`
}

// listShops is GET /shops.
func (p *Platform) listShops(c *call) (records.Page, error) {
	return shopList.Page(c.asked(), &c.company.shops)
}

// countShops is GET /shops/count.
func (p *Platform) countShops(c *call) (count, error) { return count{c.company.shops.Len()}, nil }

// showShop is GET /shops/{shop}. With companyId the shop may be named by its slug.
func (p *Platform) showShop(c *call) (*shopView, error) {
	id := c.path("shop")
	if s, ok := c.company.shops.Get(id); ok {
		return s.view(), nil
	}
	if c.query.Get("companyId") == c.company.ID {
		return c.shopBySlug(id)
	}
	return nil, missing(c, "shop", id)
}

// showShopByHandle is GET /shops/handle/{slug}.
func (p *Platform) showShopByHandle(c *call) (*shopView, error) { return c.shopBySlug(c.path("slug")) }

func (c *call) shopBySlug(slug string) (*shopView, error) {
	for s := range c.company.shops.All() {
		if strings.EqualFold(s.Slug, slug) {
			return s.view(), nil
		}
	}
	return nil, missing(c, "shop", slug)
}
