package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"campaignd/internal/messaging"
)

// Subscribe subscribes the app of the token to the webhooks of every account, and returns the
// accounts that are subscribed now. A failure of one account does not end the others, and is in the
// error. The events go to the URL that the app has in its dashboard: the URL that a subscription
// could name would not get events of templates and accounts (docs/cloud.md#webhooks).
func (c *Client) Subscribe(ctx context.Context) (accounts []string, err error) {
	for i := range c.o.Accounts {
		id := c.o.Accounts[i].ID
		if failure := c.subscribe(ctx, id); failure != nil {
			err = errors.Join(err, fmt.Errorf("account %s: %w", id, failure))
			continue
		}
		accounts = append(accounts, id)
	}
	return accounts, err
}

func (c *Client) subscribe(ctx context.Context, id string) error {
	path := id + "/subscribed_apps"
	v, err := c.call(ctx, c.o.Timeout, id, c.request(ctx, id, http.MethodPost, path, nil))
	if err != nil {
		return err
	}
	if ok, _ := v.Get("success").Bool(); !ok {
		return messaging.BadAnswer(http.StatusOK, "", "POST "+path+": the answer does not say success", nil)
	}
	return nil
}
