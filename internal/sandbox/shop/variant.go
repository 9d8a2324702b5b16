package shop

import (
	"campaignd/internal/sandbox/shop/records"
	"campaignd/internal/sandbox/shop/scenario"
	"campaignd/internal/sandbox/shop/value"
)

// variant is what is bought: it has the price and the stock.
type variant struct {
	scenario.Variant
	product  *product
	position int
	stocks   map[string]int // by warehouse
}

func (v *variant) Key() string { return v.ID }

// warehouses returns the warehouses of a shop, or of the whole company.
func (c *company) warehouses(of *shop) []scenario.Warehouse {
	if of != nil {
		return of.Warehouses
	}
	var all []scenario.Warehouse
	for s := range c.shops.All() {
		all = append(all, s.Warehouses...)
	}
	return all
}

// quantity is the stock in the warehouses of a shop, or in all.
func (v *variant) quantity(s *shop) int {
	sum := 0
	for _, w := range v.product.company.warehouses(s) {
		sum += v.stocks[w.ID]
	}
	return sum
}

// held is the stock of a warehouse.
type held struct {
	WarehouseID string `json:"warehouse_id"`
	Quantity    int    `json:"quantity"`
}

// variantView is the variant of the document.
type variantView struct {
	ID               string            `json:"id"`
	ProductID        string            `json:"product_id"`
	Title            string            `json:"title"`
	BaseTitle        string            `json:"base_title"`
	SKU              value.Text        `json:"sku"`
	Barcode          value.Text        `json:"barcode"`
	Price            value.Amount      `json:"price"`
	CompareAtPrice   *value.Amount     `json:"compare_at_price"`
	Taxable          bool              `json:"taxable"`
	Position         int               `json:"position"`
	MinOrderQuantity int               `json:"min_order_quantity"`
	Options          map[string]string `json:"options"`
	ImageID          any               `json:"image_id"`
	FollowStock      bool              `json:"follow_stock"`
	Estimated        int               `json:"estimated_quantity"`
	EstimatedByShop  map[string]int    `json:"estimated_quantity_by_shop"`
	EstimatedByHall  map[string]int    `json:"estimated_quantity_by_warehouse,omitzero"`
	Stocks           []held            `json:"stocks,omitzero"`
	CompositeStocks  []any             `json:"composite_stocks"`
}

// view shows a variant. The stock of each warehouse is shown as a list, as an object, or not.
func (v *variant) view(stocks, quantities bool) variantView {
	c := v.product.company
	out := variantView{
		ID: v.ID, ProductID: v.product.ID, Title: v.Title, BaseTitle: v.product.Title, SKU: value.Text(v.SKU), Barcode: value.Text(v.Barcode),
		Price: v.Price, Taxable: on(v.Taxable), Position: v.position, MinOrderQuantity: 1, Options: v.Options,
		FollowStock: v.FollowStock, Estimated: v.quantity(nil), EstimatedByShop: map[string]int{}, CompositeStocks: none,
	}
	if out.Options == nil {
		out.Options = map[string]string{}
	}
	if v.CompareAtPrice.Text != "" {
		out.CompareAtPrice = &v.CompareAtPrice
	}
	for s := range c.shops.All() {
		out.EstimatedByShop[s.ID] = v.quantity(s)
	}
	if stocks {
		out.Stocks = []held{}
	}
	if quantities {
		out.EstimatedByHall = map[string]int{}
	}
	for _, w := range c.warehouses(nil) {
		if stocks {
			out.Stocks = append(out.Stocks, held{w.ID, v.stocks[w.ID]})
		}
		if quantities {
			out.EstimatedByHall[w.ID] = v.stocks[w.ID]
		}
	}
	return out
}

var variantList = records.List[*variant]{
	View: func(v *variant, _ records.Includes) any { return v.view(true, true) },
}

// listVariants is GET /productVariants.
func (p *Platform) listVariants(c *call) (records.Page, error) {
	if c.shop == nil {
		return variantList.Page(c.asked(), &c.company.variants)
	}
	return variantList.Page(c.asked(), records.Where(&c.company.variants, func(v *variant) bool { return v.product.sells(c.shop) }))
}

// showVariant is GET /productVariants/{productVariant}.
func (p *Platform) showVariant(c *call) (variantView, error) {
	id := c.path("productVariant")
	v, ok := c.company.variants.Get(id)
	if !ok || !v.product.sells(c.shop) {
		return variantView{}, missing(c, "variant", id)
	}
	return v.view(true, true), nil
}
