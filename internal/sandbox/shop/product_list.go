package shop

import (
	"cmp"
	"slices"
	"strings"

	"campaignd/internal/sandbox/shop/value"
)

// productList is the list of products, of storefront and admin routes alike.
var productList = list[*product]{
	filters: map[string]filter[*product]{
		"search":       searching((*product).texts),
		"published":    flag(func(_ *call, p *product) bool { return on(p.Published) }),
		"type":         equal(func(p *product) string { return p.Type }),
		"has_stocks":   flag(func(c *call, p *product) bool { return p.inStock(c.shop) }),
		"priceRange":   inPriceRange,
		"collections":  oneOf(func(p *product) []string { return p.Collections }),
		"shops":        soldIn,
		"tags":         oneOf(func(p *product) []string { return p.Tags }),
		"optionValues": oneOf((*product).optionValues),
		"created_at":   between(func(p *product) value.Stamp { return p.CreatedAt }),
		"updated_at":   between(func(p *product) value.Stamp { return p.UpdatedAt }),
	},
	sorts: map[string]sorter[*product]{
		"price": func(*call) func(a, b *product) int {
			return func(a, b *product) int { return a.price().Cmp(b.price().Decimal) }
		},
		birth:        byTime(func(p *product) value.Stamp { return p.CreatedAt }),
		"updated_at": byTime(func(p *product) value.Stamp { return p.UpdatedAt }),
		"title":      byFold(func(p *product) string { return p.Title }),
		"has_stock_first": func(c *call) func(a, b *product) int {
			place := map[bool]int{true: 0, false: 1}
			return func(a, b *product) int { return cmp.Compare(place[a.inStock(c.shop)], place[b.inStock(c.shop)]) }
		},
		"total_orders": byCount((*company).ordersByProduct, (*product).key),
		"stocks": func(c *call) func(a, b *product) int {
			return func(a, b *product) int { return cmp.Compare(a.stock(c.shop), b.stock(c.shop)) }
		},
		"tags": byFold(func(p *product) string { return strings.Join(p.Tags, ",") }),
	},
	includes: []string{"variants", "variants.stocks", "variants.warehouseQuantities", "collections", "shops", "tags", "options",
		"supplier", "service.professionals"},
	view: func(_ *call, p *product, in includes) any { return p.view(in) },
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
func inPriceRange(_ *call, v criterion) (func(*product) bool, error) {
	low, high, ok := strings.Cut(v.value, ",")
	low, high = strings.TrimSpace(low), strings.TrimSpace(high)
	least, err := value.ParseAmount(low)
	most, err2 := value.ParseAmount(high)
	if err != nil || err2 != nil || !ok {
		return nil, badValue(v, "a lowest and a highest price such as 10,20")
	}
	return func(p *product) bool {
		price := p.price()
		return !price.LessThan(least.Decimal) && (high == "" || !price.GreaterThan(most.Decimal))
	}, nil
}

// soldIn is filter[shops]=ID: what one of these shops sells.
func soldIn(c *call, v criterion) (func(*product) bool, error) {
	var wanted []*shop
	for id := range names(v.value) {
		if s, ok := c.company.shops.get(id); ok {
			wanted = append(wanted, s)
		}
	}
	return func(p *product) bool { return slices.ContainsFunc(wanted, p.sells) }, nil
}

// sold are the products of the active shop.
func (c *call) sold() *table[*product] {
	if c.shop == nil {
		return &c.company.products
	}
	return those(&c.company.products, func(p *product) bool { return p.sells(c.shop) })
}

// listProducts is GET /products.
func (p *Platform) listProducts(c *call) (page, error) { return productList.page(c, c.sold()) }

// countProducts is GET /products/count, of what the filters leave.
func (p *Platform) countProducts(c *call) (count, error) {
	q, err := productList.read(c)
	if err != nil {
		return count{}, err
	}
	_, n := productList.rows(c, c.sold(), q)
	return count{n}, nil
}

// product finds the product that the path names by its id or its handle.
func (c *call) product() (*product, error) {
	id, handle := c.path("product"), c.path("handle")
	for p := range c.sold().all() {
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
// that share the most collections and tags, then those of the same type.
func (p *Platform) similarProducts(c *call) (rowsOf[productView], error) {
	var out rowsOf[productView]
	limit := defaultSize
	if err := readNumber("limit", c.query.Get("limit"), &limit, maxSize); err != nil {
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
	for o := range c.sold().all() {
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
	found, ok := c.company.products.get(c.path("product"))
	if !ok {
		return said{}, missing(c, "product", c.path("product"))
	}
	for _, v := range found.variants {
		c.company.variants.remove(p, v.ID)
	}
	c.company.products.remove(p, found.ID)
	return sentence("The product has been deleted.")
}
