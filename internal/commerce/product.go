package commerce

import (
	"context"
	"net/http"
)

// Statistics is what the platform counts of one product.
type Statistics struct {
	TopCustomers  []TopCustomer `json:"topCustomers"`
	TotalOrders   int64         `json:"totalOrders"`
	TotalQuantity int64         `json:"totalQuantity"`
	TotalSales    Amount        `json:"totalSales"`
}

// TopCustomer is a customer with what it bought of the product.
type TopCustomer struct {
	Customer
	OrdersCount     int64  `json:"orders_count"`
	QuantityOrdered int64  `json:"quantity_ordered"`
	TotalSpent      Amount `json:"total_spent"`
}

// Statistics returns the statistics of a product, with its best customers first.
func (c *Client) Statistics(ctx context.Context, product string) (s Statistics, err error) {
	q, err := call{method: http.MethodGet, route: "/2023-11/admin/products/{product}", scope: admin, repeat: true}.of(product)
	if err == nil {
		err = c.do(ctx, q, &s)
	}
	return s, err
}
