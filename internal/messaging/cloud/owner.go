package cloud

import (
	"context"
	"slices"
	"time"

	"campaignd/recipients"
)

// owners know the account of each number that a listing has told since the start. A number that is
// in no account any more stays with its last one, because events about it may still come.
type owners struct {
	accounts    map[string]string    // by phone_number_id
	ids         map[int64]string     // phone_number_id by recipients.Key of the number
	connections []string             // in order
	listed      map[string]time.Time // listing.tells of the last listing of an account
	seen        map[string]time.Time // when an event first named a number that no listing has
	tried       map[string]time.Time // when an event last made this process ask for an account
}

// maxSeen bounds owners.seen. A number beyond it is not noted, so its events are answered 503 until
// the next listing makes room.
const maxSeen = 1000

// Standing is what is known of a number that an event names.
type Standing uint8

// The standings.
const (
	Unlisted Standing = iota // no listing since it was first named: the event has to come again
	Others                   // it belongs to another account, or to none
	Own                      // it belongs to one of the accounts
)

// unknownAge is how old the last listing must be for a number that it lacks to be asked for. With
// one question a minute an account makes at most 60 calls an hour for its numbers
// (docs/cloud.md#management-calls), whatever events name.
const unknownAge = time.Minute

// Standing tells whether one of the accounts has the number that an event names, by its
// phone_number_id or, if that is "", by its digits. If no listing has the number, it lists the
// numbers of the accounts first. It blocks for at most the time-out of a call. With Own it returns
// the id of the connection.
func (c *Client) Standing(ctx context.Context, accounts []string, id, digits string) (connection string, s Standing) {
	if connection, s = c.standing(accounts, id, digits); s != Unlisted {
		return connection, s
	}
	ctx, stop := context.WithTimeout(ctx, c.o.Timeout/2) // the answer to the event may take as long again
	defer stop()
	for _, a := range c.worthAsking(accounts, id, digits) {
		_, _ = c.numbersOf(ctx, c.account(a), time.Now().Add(-unknownAge)) // without an answer it stays unlisted
	}
	return c.standing(accounts, id, digits)
}

// standing is Standing from what is known.
func (c *Client) standing(accounts []string, id, digits string) (connection string, s Standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.owners
	name := id
	if name == "" {
		name = "+" + digits
		id = o.ids[recipients.Key(name)]
	}
	if account, known := o.accounts[id]; known {
		delete(o.seen, name)
		if slices.Contains(accounts, account) {
			return c.connection(id), Own
		}
		return "", Others
	}
	at, seen := o.seen[name]
	if !seen {
		at = time.Now()
		if len(o.seen) >= maxSeen {
			o.forget()
		}
		if len(o.seen) < maxSeen {
			o.seen[name] = at
		}
	}
	for _, a := range accounts {
		if o.listed[a].Before(at) {
			return "", Unlisted
		}
	}
	return "", Others
}

// worthAsking returns the accounts that were not listed since an event first named the number, and
// for which no event asked a moment ago.
func (c *Client) worthAsking(accounts []string, id, digits string) (ask []string) {
	if id == "" {
		id = "+" + digits
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.owners
	for _, a := range accounts {
		at, seen := o.seen[id]
		if seen && o.listed[a].Before(at) && time.Since(o.tried[a]) >= lookAgain && c.account(a) != nil {
			o.tried[a] = time.Now()
			ask = append(ask, a)
		}
	}
	return ask
}

// forget drops the numbers that were named before the last listing of each account.
func (o *owners) forget() {
	var oldest time.Time
	for _, at := range o.listed {
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	for name, at := range o.seen {
		if at.Before(oldest) {
			delete(o.seen, name)
		}
	}
}

// learn notes the numbers of an account, from a listing that has all that was true at a time.
func (c *Client) learn(account string, lines []*line, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &c.owners
	if at.Before(o.listed[account]) {
		return
	}
	o.listed[account] = at
	for _, l := range lines {
		if _, known := o.accounts[l.id]; !known {
			// A new slice: Owned has given the old one to others.
			o.connections = append(slices.Clone(o.connections), l.number.ConnectionID)
			slices.Sort(o.connections)
			o.connections = slices.Compact(o.connections)
		}
		o.accounts[l.id] = account
		if key := recipients.Key(l.number.Phone); key != 0 {
			o.ids[key] = l.id
		}
	}
}

// Owned returns the connections of all numbers that have a name or were listed, in order. The
// caller must not change it.
func (c *Client) Owned() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.owners.connections
}

// Owner returns the account of a connection; "" if none is known.
func (c *Client) Owner(connection string) (account string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for id, owner := range c.owners.accounts {
		if c.connection(id) == connection {
			return owner
		}
	}
	return ""
}

// Recall takes over the last listings of the numbers that the shelf has, however old, so that whose
// they are is known also while the platform is away.
func (c *Client) Recall(ctx context.Context) error {
	for i := range c.o.Accounts {
		account := &c.o.Accounts[i]
		l, err := shelved(ctx, c, c.numbersQuestion(account), c.numbersReader(account))
		if err != nil {
			return err
		}
		if !l.at.IsZero() {
			c.learn(account.ID, l.value, l.tells)
		}
	}
	return nil
}

func (c *Client) account(id string) *Account {
	for i := range c.o.Accounts {
		if c.o.Accounts[i].ID == id {
			return &c.o.Accounts[i]
		}
	}
	return nil
}
