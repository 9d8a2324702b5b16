package shop

import "strconv"

// taken is stock of a variant that an order took from a warehouse.
type taken struct {
	variant   *variant
	warehouse string
	quantity  int
}

// take takes the stock of the lines from the warehouses of a shop, or of the company if there is no
// shop. It takes all or nothing (docs/commerce.md#assumptions). The caller holds the lock from
// before the check until the order is stored, so that no other order sees the stock in between.
// Lines that find too little are flaws.
func (c *company) take(lines []line, from *shop, f *flaws) []taken {
	var all []taken
	for i, l := range lines {
		v, ok := c.variants.Get(l.variant)
		if !ok || !v.FollowStock {
			continue
		}
		missing := l.quantity
		for _, w := range c.warehouses(from) {
			if n := min(missing, v.stocks[w.ID]); n > 0 {
				v.stocks[w.ID] -= n
				missing -= n
				all = append(all, taken{v, w.ID, n})
			}
		}
		if missing > 0 {
			f.add("products."+strconv.Itoa(i)+".quantity", "Only "+strconv.Itoa(l.quantity-missing)+" of them are in stock.")
		}
	}
	if f.err() != nil {
		giveBack(all)
		return nil
	}
	return all
}

// giveBack puts stock back into the warehouses that it came from.
func giveBack(all []taken) {
	for _, t := range all {
		t.variant.stocks[t.warehouse] += t.quantity
	}
}

// takeAgain undoes giveBack.
func takeAgain(all []taken) {
	for _, t := range all {
		t.variant.stocks[t.warehouse] -= t.quantity
	}
}
