package campaign

import (
	"context"
	"errors"
	"slices"
	"time"
)

// KeyScope is what an operator key allows. Each one includes those before it.
type KeyScope string

// The scopes of an operator key (docs/api.md#keys).
const (
	KeyRead    KeyScope = "read"    // look at everything but operator keys and the log of actions
	KeyOperate KeyScope = "operate" // launch and control runs, holds and suppressions
	KeyAdmin   KeyScope = "admin"   // operator keys and the log of actions
)

// KeyScopes lists every KeyScope, the least first.
var KeyScopes = []KeyScope{KeyRead, KeyOperate, KeyAdmin}

// Allows reports whether an operator key of scope s may do what needs the scope need.
func (s KeyScope) Allows(need KeyScope) bool {
	return slices.Index(KeyScopes, s) >= slices.Index(KeyScopes, need) && slices.Contains(KeyScopes, need)
}

// OperatorKey is a key of the operator's API, as the ledger keeps it: without its secret.
type OperatorKey struct {
	ID   string
	Name string // for people
	Hash string // SHA-256 of the whole key, in lower-case hex
	// Scope is what the key allows.
	Scope KeyScope
	// Company is the only company whose runs the key reaches; "": the runs of all companies.
	Company   string
	CreatedAt time.Time
	RevokedAt time.Time // zero: in force
}

// Action is one thing that an operator did: a line of the log of actions.
type Action struct {
	// ID is random. A second action with the same one changes the Detail alone: it has the result.
	ID string
	At time.Time
	By string // an operator key (key ID, NAME), or a user of this machine (cli USER@HOST)
	// The act, from a closed list: the method and route of the API, or the command.
	What   string
	On     string // what it was done to: a run, an operator key, a scope and its id
	Detail string // what was asked for, and what came of it
}

// ActionFilter selects actions, the newest first.
type ActionFilter struct {
	// Before and BeforeID select what is older than the action with that time and ID; zero: all.
	Before   time.Time
	BeforeID string
	Limit    int    // at most this many; 0: all
	On       string // only those on this, such as the id of a run; "": all
}

// ErrNoKey says that no operator key has the given ID.
var ErrNoKey = errors.New("no such key")

// BrowserSession is a sign-in to the console, as the ledger keeps it: without the secret of its
// cookie.
type BrowserSession struct {
	Hash string // SHA-256 of the secret, in lower-case hex
	Key  string // the id of the operator key that signed in; "": a user of this machine did
	By   string // for people: the key and its name, or the user
	// Once says that it is no session yet, but a token that makes one, once.
	Once              bool
	CreatedAt, SeenAt time.Time
}

// ErrNoSession says that no session has the given hash.
var ErrNoSession = errors.New("no such session")

// AccessLedger keeps the operator keys, the sessions of browsers, and the log of what operators
// did.
type AccessLedger interface {
	// AddKey stores an operator key. One with an ID that is there already changes nothing.
	AddKey(ctx context.Context, k OperatorKey) error
	Key(ctx context.Context, id string) (OperatorKey, error) // ErrNoKey
	Keys(ctx context.Context) ([]OperatorKey, error)         // the newest first
	// RevokeKey ends an operator key for ever, and returns it. The first time of a revocation stays.
	RevokeKey(ctx context.Context, id string, at time.Time) (OperatorKey, error) // ErrNoKey
	// AddSession stores a session, and removes those that began before the time ended.
	AddSession(ctx context.Context, s BrowserSession, ended time.Time) error
	Session(ctx context.Context, hash string) (BrowserSession, error) // ErrNoSession
	Sessions(ctx context.Context) ([]BrowserSession, error)           // the newest first
	// SeeSession notes the latest request of a session. One that is not there stays so.
	SeeSession(ctx context.Context, hash string, at time.Time) error
	// TakeSession removes a session and returns it. One of several calls at a time gets it; the others
	// get ErrNoSession.
	TakeSession(ctx context.Context, hash string) (BrowserSession, error)
	NoteAction(ctx context.Context, a Action) error
	Actions(ctx context.Context, f ActionFilter) ([]Action, error)
}
