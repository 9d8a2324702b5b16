package value_test

import (
	"encoding/json"
	"fmt"

	"github.com/shopspring/decimal"

	"campaignd/internal/sandbox/shop/value"
)

// Two boots, 10 % off the order, and a shipping fee of 5.
func Example() {
	price, _ := value.ParseAmount("49.90")
	sums := value.Total([]value.Sold{{Price: price.Decimal, Quantity: 2}}, []value.Cut{{Value: decimal.NewFromInt(10)}},
		decimal.NewFromInt(5), value.Digits("EUR"))
	text, _ := json.Marshal(value.Amount{Decimal: sums.Total})
	fmt.Println(string(text))
	// Output: 94.82
}
