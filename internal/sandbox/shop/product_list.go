package shop

import (
	"cmp"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/value"
)

// productList is the list of products for a request, of storefront and admin routes alike.
func productList(c *call) *records.List[*product] {
	return &records.List[*product]{
		Filters: map[string]records.Filter[*product]{
			"search":       records.Searching((*product).texts),
			"published":    records.Flag(func(p *product) bool { return on(p.Published) }),
			"type":         records.Equal(func(p *product) string { return p.Type }),
			"has_stocks":   records.Flag(func(p *product) bool { return p.inStock(c.shop) }),
			"priceRange":   inPriceRange,
			"collections":  records.OneOf(func(p *product) []string { return p.Collections }),
			"shops":        records.OneOf((*product).soldIn),
			"tags":         records.OneOf(func(p *product) []string { return p.Tags }),
			"optionValues": records.OneOf((*product).optionValues),
			"created_at":   records.Between(func(p *product) value.Stamp { return p.CreatedAt }),
			"updated_at":   records.Between(func(p *product) value.Stamp { return p.UpdatedAt }),
		},
		Sorts: map[string]func(a, b *product) int{
			"price":       func(a, b *product) int { return a.price().Cmp(b.price().Decimal) },
			records.Birth: records.ByTime(func(p *product) value.Stamp { return p.CreatedAt }),
			"updated_at":  records.ByTime(func(p *product) value.Stamp { return p.UpdatedAt }),
			"title":       records.ByFold(func(p *product) string { return p.Title }),
			"has_stock_first": func(a, b *product) int {
				place := map[bool]int{true: 0, false: 1}
				return cmp.Compare(place[a.inStock(c.shop)], place[b.inStock(c.shop)])
			},
			"total_orders": byCount(c.company.ordersByProduct, (*product).Key),
			"stocks":       func(a, b *product) int { return cmp.Compare(a.stock(c.shop), b.stock(c.shop)) },
			"tags":         records.ByFold(func(p *product) string { return strings.Join(p.Tags, ",") }),
		},
		Includes: []string{"variants", "variants.stocks", "variants.warehouseQuantities", "collections", "shops", "tags", "options",
			"supplier", "service.professionals"},
		View: func(p *product, in records.Includes) any { return p.view(in) },
	}
}

// soldIn are the ids of the shops that sell the product.
func (p *product) soldIn() []string {
	var ids []string
	for s := range p.company.shops.All() {
		if p.sells(s) {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// texts are what a search looks at.
func (p *product) texts() []string {
	all := []string{p.Title, p.Handle, p.Vendor}
	for _, v := range p.variants {
		all = append(all, v.Title, v.SKU, v.Barcode)
	}
	return all
}

func (p *product) optionValues() []string {
	var all []string
	for _, v := range p.variants {
		for _, value := range v.Options {
			all = append(all, value)
		}
	}
	return all
}

// inPriceRange is filter[priceRange]=min,max, both inclusive. Either may be left out.
func inPriceRange(v records.Criterion) (func(*product) bool, error) {
	low, high, ok := strings.Cut(v.Value, ",")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	least, err := value.ParseAmount(low)
	most, err2 := value.ParseAmount(high)
	if err != nil || err2 != nil || !ok {
		return nil, records.BadValue(v, "a lowest and a highest price such as 10,20")
	}
	return func(p *product) bool {
		price := p.price()
		return !price.LessThan(least.Decimal) && (high == "" || !price.GreaterThan(most.Decimal))
	}, nil
}

// sold are the products of the active shop.
func (c *call) sold() *records.Table[*product] {
	if c.shop == nil {
		return &c.company.products
	}
	return records.Where(&c.company.products, func(p *product) bool { return p.sells(c.shop) })
}

// listProducts is GET /products.
func (p *Platform) listProducts(c *call) (records.Page, error) {
	return productList(c).Page(c.asked(), c.sold())
}

// countProducts is GET /products/count, of what the filters leave.
func (p *Platform) countProducts(c *call) (count, error) {
	n, err := productList(c).Count(c.asked(), c.sold())
	return count{n}, err
}

// product finds the product that the path names by its id or its handle.
func (c *call) product() (*product, error) {
	id, handle := c.path("product"), c.path("handle")
	for p := range c.sold().All() {
		if p.ID == id || handle != "" && strings.EqualFold(p.Handle, handle) {
			return p, nil
		}
	}
	return nil, missing(c, "product", id+handle)
}

// showProduct is GET /products/{product} and /products/handle/{handle}.
func (p *Platform) showProduct(c *call) (productView, error) {
	found, err := c.product()
	if err != nil {
		return productView{}, err
	}
	return found.detail(c)
}

// rowsOf is a list without pages.
type rowsOf[T any] struct {
	Data []T `json:"data"`
}

// similarProducts is GET /products/{product}/similar?limit=, also by handle: published products
// that share the most collections and tags, then products of the same type.
func (p *Platform) similarProducts(c *call) (rowsOf[productView], error) {
	var out rowsOf[productView]
	limit, err := c.asked().Limit()
	if err != nil {
		return out, err
	}
	found, err := c.product()
	if err != nil {
		return out, err
	}
	likeness := func(o *product) (n int) {
		for _, id := range o.Collections {
			if slices.Contains(found.Collections, id) {
				n += 2
			}
		}
		for _, t := range o.Tags {
			if slices.Contains(found.Tags, t) {
				n += 2
			}
		}
		if o.Type == found.Type {
			n++
		}
		return n
	}
	var rows []*product
	for o := range c.sold().All() {
		if o != found && on(o.Published) && likeness(o) > 0 {
			rows = append(rows, o)
		}
	}
	slices.SortStableFunc(rows, func(a, b *product) int { return cmp.Compare(likeness(b), likeness(a)) })
	out.Data = []productView{}
	for _, o := range rows[:min(limit, len(rows))] {
		out.Data = append(out.Data, o.view(nil))
	}
	return out, nil
}

// sentence is the answer of a route that only says what it did.
func sentence(text string) (said, error) { return said{text}, nil }

// deleteProduct is DELETE /admin/products/{product}. Orders keep what they bought.
func (p *Platform) deleteProduct(c *call) (said, error) {
	found, ok := c.company.products.Get(c.path("product"))
	if !ok {
		return said{}, missing(c, "product", c.path("product"))
	}
	for _, v := range found.variants {
		c.company.variants.Remove(&p.room, v.ID)
	}
	c.company.products.Remove(&p.room, found.ID)
	return sentence("The product has been deleted.")
}
