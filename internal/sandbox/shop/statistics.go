package shop

import (
	"cmp"
	"slices"
	"sync"

	"github.com/shopspring/decimal"

	"campaignd/internal/sandbox/shop/value"
)

// The largest numbers of entries of a product's statistics.
const (
	maxTopCustomers = 100
	maxTopOthers    = 10
)

// statistics counts every order with the product that has not ended, paid or not. The best entries
// come first.
type statistics struct {
	TopCustomers  []customerView `json:"topCustomers"`
	TopRelated    []productView  `json:"topRelatedProducts"`
	TopShops      []shopShare    `json:"topShops"`
	TotalOrders   int            `json:"totalOrders"`
	TotalQuantity int            `json:"totalQuantity"`
	TotalSales    value.Amount   `json:"totalSales"`
}

// shopShare is what a shop sold of the product. Pivot is the newest line of it.
type shopShare struct {
	Shop          *shopView     `json:"shop"`
	ShopID        string        `json:"shop_id"`
	OrdersCount   int           `json:"orders_count"`
	Pivot         soldLine      `json:"pivot"`
	Products      []productView `json:"products"`
	OrderProducts []soldLine    `json:"order_products"`
	Company       companyRef    `json:"company"`
	ExpiresAt     value.Stamp   `json:"expires_at"`
}

// soldLine is the product in an order.
type soldLine struct {
	OrderID   string       `json:"order_id"`
	Price     value.Amount `json:"price"`
	ProductID string       `json:"product_id"`
	Quantity  int          `json:"quantity"`
}

// sales are what somebody bought of a product, or a shop sold.
type sales struct {
	orders, quantity int
	money            decimal.Decimal
	newest           soldLine
	at               value.Stamp
}

// add adds the lines of an order.
func (s *sales) add(o *order, lines []line) {
	s.orders++
	for _, l := range lines {
		s.quantity += l.quantity
		s.money = s.money.Add(l.price.Mul(decimal.NewFromInt(int64(l.quantity))))
	}
	if s.at.IsZero() || !o.created.Before(s.at.Time) {
		l := lines[len(lines)-1]
		s.newest, s.at = soldLine{o.id, l.price, l.product, l.quantity}, o.created
	}
}

// best are the keys with the most money first, then with the most orders. It sorts only those that
// it returns, because a product can have hundreds of thousands of customers.
func best(of map[string]*sales, most int) []string {
	order := func(a, b string) int {
		return cmp.Or(of[b].money.Cmp(of[a].money), cmp.Compare(of[b].orders, of[a].orders), cmp.Compare(a, b))
	}
	var top []string
	for key := range of {
		if len(top) == most && order(top[most-1], key) < 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, key, order)
		top = slices.Insert(top, i, key)
		top = top[:min(len(top), most)]
	}
	return top
}

// showStatistics is GET /admin/products/{serviceId}.
func (p *Platform) showStatistics(c *call) (statistics, error) {
	id := c.path("serviceId")
	found, ok := c.company.products.Get(id)
	if !ok {
		return statistics{}, missing(c, "product", id)
	}
	var all sales
	customers, shops, related := map[string]*sales{}, map[string]*sales{}, map[string]*sales{}
	for o := range c.company.eachOrder() {
		lines := o.of(id)
		if o.ended() || len(lines) == 0 {
			continue
		}
		all.add(o, lines)
		entry(customers, o.customer).add(o, lines)
		if o.shop != "" {
			entry(shops, o.shop).add(o, lines)
		}
		for i, l := range o.lines {
			if l.product != id && l.product != "" && !o.has(l.product, i) {
				entry(related, l.product).orders++
			}
		}
	}
	out := statistics{
		TopCustomers: []customerView{}, TopRelated: []productView{}, TopShops: []shopShare{},
		TotalOrders: all.orders, TotalQuantity: all.quantity, TotalSales: value.Amount{Decimal: all.money},
	}
	for _, key := range best(customers, maxTopCustomers) {
		if who, ok := c.company.customers.Get(key); ok {
			v, s := who.view(), customers[key]
			v.OrdersCount, v.QuantityOrdered, v.TotalSpent = &s.orders, &s.quantity, &value.Amount{Decimal: s.money}
			out.TopCustomers = append(out.TopCustomers, v)
		}
	}
	for _, key := range best(related, maxTopOthers) {
		if other, ok := c.company.products.Get(key); ok {
			v := other.view(nil)
			v.Occurrence = related[key].orders
			out.TopRelated = append(out.TopRelated, v)
		}
	}
	for _, key := range best(shops, maxTopOthers) {
		sold, _ := c.company.shops.Get(key)
		out.TopShops = append(out.TopShops, shopShare{
			Shop: sold.view(), ShopID: key, OrdersCount: shops[key].orders, Pivot: shops[key].newest,
			Products: []productView{found.view(nil)}, OrderProducts: []soldLine{shops[key].newest}, Company: c.company.ref(),
		})
	}
	return out, nil
}

// entry is the entry of a key, which is made if it is missing.
func entry(of map[string]*sales, key string) *sales {
	if of[key] == nil {
		of[key] = &sales{}
	}
	return of[key]
}

// of are the lines of a product.
func (o *order) of(product string) []line {
	if len(o.lines) == 1 && o.lines[0].product == product { // every generated order
		return o.lines
	}
	var lines []line
	for _, l := range o.lines {
		if l.product == product {
			lines = append(lines, l)
		}
	}
	return lines
}

// ordersByProduct counts the orders of each product that have not ended.
func (c *company) ordersByProduct() map[string]int {
	return c.ordersBy(func(o *order, in func(string)) {
		for i, l := range o.lines {
			if l.product != "" && !o.has(l.product, i) {
				in(l.product)
			}
		}
	})
}

// ordersByFee counts the orders of each shipping fee that have not ended.
func (c *company) ordersByFee() map[string]int {
	return c.ordersBy(func(o *order, in func(string)) { in(o.fee) })
}

func (c *company) ordersBy(ids func(o *order, in func(string))) map[string]int {
	n := map[string]int{}
	for o := range c.eachOrder() {
		if !o.ended() {
			ids(o, func(id string) { n[id]++ })
		}
	}
	return n
}

// has reports whether one of the first n lines has the product.
func (o *order) has(product string, n int) bool {
	return slices.ContainsFunc(o.lines[:n], func(l line) bool { return l.product == product })
}

// byCount orders by a count of each record, such as its orders. All are counted once.
func byCount[T any](counts func() map[string]int, key func(T) string) func(a, b T) int {
	once := sync.OnceValue(counts)
	return func(a, b T) int { return cmp.Compare(once()[key(a)], once()[key(b)]) }
}
