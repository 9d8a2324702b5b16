package conversion_test

import (
	"fmt"
	"time"

	"campaignd/campaign/conversion"
)

// A run told 1,000 people and held out 500. One order came an hour after its message.
func Example() {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	tally := conversion.Tally{Run: 7, Rule: conversion.Rule{Within: 24 * time.Hour, Count: conversion.Paid}, Start: start}
	order := conversion.Order{ID: "01J", Amount: "49.90", Currency: "EUR", CreatedAt: start.Add(time.Hour)}
	if err := tally.Add(&order, []conversion.Touch{{Run: 7, Delivery: 1, Accepted: start}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(tally.Conversions())
	fmt.Println(tally.Lift(1000, 500).Difference)
	// Output:
	// {1 1 0 [{EUR 49.9}] 0 }
	// 0.001
}
