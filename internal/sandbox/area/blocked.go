package area

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// maxBlocked is the most users that a number blocks.
const maxBlocked = 64_000

// maxUsers is the most users of one request.
const maxUsers = 1_000

func (a *Areas) blockedHandlers() map[string]Handler {
	return map[string]Handler{
		"blocked_users": a.listBlocked, "block_users": take(a.block), "unblock_users": take(a.unblock),
	}
}

// Blocked reports whether a connection has blocked a person. Their messages do not arrive, and a
// send to them is refused.
func (a *Areas) Blocked(connection string, number uint64) bool {
	_, blocked := a.blocked[connection][number]
	return blocked
}

func (a *Areas) listBlocked(c *Call) (any, *Refusal) {
	type row struct {
		PhoneNumber string    `json:"phoneNumber"`
		BlockedAt   time.Time `json:"blockedAt"`
	}
	rows := []row{}
	for number, at := range a.blocked[c.Connection.ID] {
		rows = append(rows, row{fmt.Sprintf("+%d", number), at.UTC().Truncate(time.Second)})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(a.BlockedAt.Compare(b.BlockedAt), cmp.Compare(a.PhoneNumber, b.PhoneNumber))
	})
	return list(rows), nil
}

// users is the body of both changes.
type users struct {
	Users []string `json:"users"`
}

// outcome is what became of one user of a request.
type outcome struct {
	User   string `json:"user"`
	Status string `json:"status"` // blocked, unblocked or failed
	Code   int    `json:"code,omitempty"`
}

func (in users) check() *Refusal {
	switch {
	case len(in.Users) == 0:
		return missing("users is required.")
	case len(in.Users) > maxUsers:
		return invalid(fmt.Sprintf("users has more than %d entries.", maxUsers))
	}
	return nil
}

// block blocks people who wrote in the last 24 hours (docs/service.md#assumed-operations).
func (a *Areas) block(c *Call, in users) (any, *Refusal) {
	if ref := in.check(); ref != nil {
		return nil, ref
	}
	own, id := a.ReadPhone(c.Connection.Phone), c.Connection.ID
	more := map[uint64]bool{}
	for _, user := range in.Users {
		if n := a.ReadPhone(user); n != 0 && n != own && !a.Blocked(id, n) && a.Wrote(c.Connection, n, c.Now) {
			more[n] = true
		}
	}
	if len(a.blocked[id])+len(more) > maxBlocked {
		return nil, overLimit(fmt.Sprintf("A number blocks at most %d users.", maxBlocked))
	}
	rows := []outcome{}
	for _, user := range in.Users {
		number, code := a.ReadPhone(user), 0
		switch {
		case number == 0:
			code = 131009
		case number == own:
			code = 131021
		case !a.Blocked(id, number) && !a.Wrote(c.Connection, number, c.Now):
			code = 131047
		}
		if code != 0 {
			rows = append(rows, outcome{user, "failed", code})
			continue
		}
		if a.blocked[id] == nil {
			a.blocked[id] = map[uint64]time.Time{}
		}
		if !a.Blocked(id, number) {
			a.blocked[id][number] = c.Now
		}
		rows = append(rows, outcome{user, "blocked", 0})
	}
	return rows, nil
}

// unblock lets people write again. One who is not blocked is unblocked too.
func (a *Areas) unblock(c *Call, in users) (any, *Refusal) {
	if ref := in.check(); ref != nil {
		return nil, ref
	}
	rows := []outcome{}
	for _, user := range in.Users {
		number := a.ReadPhone(user)
		if number == 0 {
			rows = append(rows, outcome{user, "failed", 131009})
			continue
		}
		delete(a.blocked[c.Connection.ID], number)
		rows = append(rows, outcome{user, "unblocked", 0})
	}
	return rows, nil
}
