package audience

import (
	"context"
	"errors"
	"strings"
	"sync"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/commerce"
)

// linker returns the payment link of an order; "" if the platform can make none.
type linker func(ctx context.Context, client *commerce.Client, p *person) (string, error)

// noLink leaves the column of links empty: nobody can be sent a link that does not exist.
func noLink(context.Context, *commerce.Client, *person) (string, error) { return "", nil }

// example is the linker of checks.
func example(links *file.PaymentLink) linker {
	return func(context.Context, *commerce.Client, *person) (string, error) { return links.Example(), nil }
}

// stored makes the link of an order once. It is stored before anybody gets it, so a list that is
// made again after a crash has the same link. One whose answer was lost is made again.
func stored(ledger campaign.PaymentLinkLedger, links *file.PaymentLink) linker {
	return func(ctx context.Context, client *commerce.Client, p *person) (string, error) {
		terms := strings.Join([]string{p.Due, p.Currency, links.SuccessURL, links.CancelURL}, " ")
		if url, err := ledger.PaymentLink(ctx, p.Order, terms); err != nil || url != "" {
			return url, err
		}
		url, err := client.PaymentLink(ctx, commerce.LinkRequest{Order: p.Order, SuccessURL: links.SuccessURL, CancelURL: links.CancelURL})
		var refused *commerce.Error
		if errors.As(err, &refused) && (refused.Code == commerce.CodeNoLink || refused.Code == commerce.CodeNotFound) {
			return "", nil // the order is paid, has ended, or its payment method makes no links
		}
		if err != nil {
			return "", err
		}
		return ledger.StorePaymentLink(ctx, campaign.PaymentLink{Order: p.Order, Terms: terms, URL: url})
	}
}

// linking is how many links are asked for at once, so that commerce.rate and not the time of an
// answer is the limit: 8 x 10/s if an answer takes 100 ms.
const linking = 8

// linkAll adds the payment links of people whom the campaign does not leave out.
func (l *list) linkAll(ctx context.Context, client *commerce.Client, people []person) error {
	links := l.d.Audience.PaymentLink
	if links == nil {
		return nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	todo := make(chan *person)
	var workers sync.WaitGroup
	var mu sync.Mutex // of l.fetch
	for range linking {
		workers.Go(func() {
			for p := range todo {
				url, err := l.link(ctx, client, p)
				if err != nil {
					stop(err)
					continue // ctx has ended, so the rest fails at once
				}
				p.Link = url
				mu.Lock()
				l.fetch()
				mu.Unlock()
			}
		})
	}
	for i := range people {
		if p := &people[i]; l.chosen(p) && ctx.Err() == nil {
			todo <- p
		}
	}
	close(todo)
	workers.Wait()
	return context.Cause(ctx)
}

// chosen reports whether the campaign may send to a person, as far as the list tells.
func (l *list) chosen(p *person) bool {
	reason, _ := l.d.Audience.Skip(p.Consent, p.Language, l.d.Template.Language)
	return reason == "" && strings.TrimSpace(p.Phone) != ""
}
