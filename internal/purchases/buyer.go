package purchases

import (
	"cmp"
	"context"
	"sync"
	"time"

	"campaignd/recipients"
)

// buyer reads the phone numbers of orders. One that names no country is of the region that the
// newest campaign has as recipients.default_region, else of the company's country.
type buyer struct {
	mu      sync.Mutex // Phones is not safe for concurrent use
	phones  *recipients.Phones
	region  string // of the newest campaign; "": none has one
	country string // of the company, a name or a code
	asked   bool   // country is known
}

// learn finds out the region and the country.
func (b *buyer) learn(ctx context.Context, k *Keeper) error {
	runs, err := k.counted(ctx, time.Now())
	if err != nil {
		return err
	}
	region := ""
	for _, r := range runs { // the newest first
		region = cmp.Or(region, r.how.Region)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.phones == nil || region != b.region {
		if b.phones, err = recipients.NewPhones(recipients.ValidateNone, region); err != nil {
			return err
		}
		b.region = region
	}
	if b.region == "" && !b.asked {
		company, err := k.client.Company(ctx)
		if err != nil {
			return err
		}
		b.country, b.asked = company.Address.Country, true
	}
	return nil
}

// key is recipients.Key of a number; 0 if it is none.
func (b *buyer) key(phone string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if phone == "" {
		return 0
	}
	country := ""
	if b.region == "" {
		country = b.country
	}
	_, key, fault := b.phones.ParseIn(phone, country)
	if fault != nil {
		return 0
	}
	return key
}
