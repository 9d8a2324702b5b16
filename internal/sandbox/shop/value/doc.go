// Package value has the values of the emulated commerce platform: amounts and the sums of an order,
// instants, texts and ids, as scenarios, requests and answers write them. The shop and its
// scenarios use it. Money is decimal, and a number in JSON; what is empty is null where the
// platform says so.
package value
