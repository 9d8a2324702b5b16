package ledgertest

import "time"

var listingPromises = []promise{
	{"AListingIsKeptOverAllProcesses", func(f *fixture) {
		if text, age, err := f.l.Listing(f.ctx, "a"); text != "" || age != 0 || err != nil {
			f.Errorf("a new ledger has the listing %q of age %s, %v; want none", text, age, err)
		}
		for _, text := range []string{`[{"name":"M\u00fcnchen"}]`, `[]`} {
			f.ok(f.l.KeepListing(f.ctx, "a", text))
			f.ok(f.l.KeepListing(f.ctx, "b", "other"))
			got, age, err := f.l.Listing(f.ctx, "a")
			if got != text || age < 0 || age > time.Minute || err != nil {
				f.Errorf("got %q of age %s, %v; want %q, just now", got, age, err, text)
			}
		}
	}},
}
