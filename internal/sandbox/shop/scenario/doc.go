// Package scenario is what a scenario of the sandbox says of the commerce platform: its companies
// with their products, customers and keys, its applications, its rate limit and its faults. The
// sandbox reads one, and shop.New makes the platform of it. Validate sets the defaults and names
// the first mistake with its place.
package scenario
