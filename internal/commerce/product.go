package commerce

import (
	"context"
	"encoding/json"
	"net/http"
)

// Statistics is what the platform counts of one product.
type Statistics struct {
	TopCustomers  []TopCustomer  `json:"-"` // topCustomers, without those that cannot be read
	Unread        []*RecordError `json:"-"` // one for each customer that cannot be read
	TotalOrders   int64          `json:"totalOrders"`
	TotalQuantity int64          `json:"totalQuantity"`
	TotalSales    Amount         `json:"totalSales"`
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
	if err != nil {
		return s, err
	}
	var answer struct {
		Statistics
		Customers []json.RawMessage `json:"topCustomers"`
	}
	if err := c.do(ctx, q, &answer); err != nil {
		return s, err
	}
	s = answer.Statistics
	for _, text := range answer.Customers {
		if one, fault := record[TopCustomer](q, text); fault != nil {
			s.Unread = append(s.Unread, fault)
		} else {
			s.TopCustomers = append(s.TopCustomers, one)
		}
	}
	return s, nil
}
