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
	{"ListingsAreDroppedByTheirBeginning", func(f *fixture) {
		for _, name := range []string{"host/1/a?x", "host/1/b", "host/1_a", "other"} {
			f.ok(f.l.KeepListing(f.ctx, name, "[]"))
		}
		f.ok(f.l.DropListings(f.ctx, "host/1/a?"))
		f.ok(f.l.DropListings(f.ctx, "host/1_"))
		for name, want := range map[string]string{"host/1/a?x": "", "host/1/b": "[]", "host/1_a": "", "other": "[]"} {
			if got, _, err := f.l.Listing(f.ctx, name); got != want || err != nil {
				f.Errorf("%s: got %q, %v; want %q", name, got, err, want)
			}
		}
	}},
}
