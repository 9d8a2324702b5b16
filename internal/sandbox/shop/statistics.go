package shop

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
	for o := range c.orders.all() {
		if !o.ended() {
			ids(o, func(id string) { n[id]++ })
		}
	}
	return n
}

// has reports whether one of the first n lines has the product.
func (o *order) has(product string, n int) bool {
	for _, l := range o.lines[:n] {
		if l.product == product {
			return true
		}
	}
	return false
}
