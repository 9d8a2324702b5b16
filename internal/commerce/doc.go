// Package commerce is the client of the commerce platform (docs/commerce.md): customers, orders,
// payments, statistics of products, discounts, payment links and the company, the installation that
// gives an access token, and the signatures of callbacks and events.
//
// The doctor, the command `campaignd commerce` and the intake of the platform's events use it;
// audiences and conversions read lists with it.
//
// It repeats requests that read, and those for a payment link, which moves no money. It follows no
// redirect and no address of another host. An Error has a code of a closed list and a sentence for
// it: no word of an answer is kept, because it may be a person's or a key.
package commerce
