package connect

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Login has the user and the password of all connections. The address may come from a file that is
// replaced while the process runs, so it is read again when the server refuses them. Host and
// database stay as they were at the start: another server may have another ledger.
type Login struct {
	again func() (*pgx.ConnConfig, error)
	log   *slog.Logger

	mu             sync.Mutex
	user, password string
	said           string // why the last refusal stayed one; logged once
}

// NewLogin begins with the login of config. again reads the address anew.
func NewLogin(config *pgx.ConnConfig, again func() (*pgx.ConnConfig, error), log *slog.Logger) *Login {
	return &Login{again: again, log: log, user: config.User, password: config.Password}
}

// Connect opens a connection with the settings of config. It tries a second time, with the login
// that the address has now, when the server refuses the first and the login has changed.
func (l *Login) Connect(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	if l == nil {
		return pgx.ConnectConfig(ctx, config.Copy())
	}
	l.mu.Lock()
	user, password := l.user, l.password
	l.mu.Unlock()
	c, err := connectAs(ctx, config, user, password)
	if !refusesLogin(err) {
		return c, err
	}
	fresh, failed := l.again()
	if failed != nil {
		l.say(err, "the database refuses the user or password, and their address cannot be read again", "err", failed)
		return nil, err
	}
	if fresh.User == user && fresh.Password == password {
		l.say(err, "the database refuses the user or password, and the address in `ledger` still has the same: "+
			"it is read again at each try", "err", OneLine(err.Error()))
		return nil, err
	}
	if c, err = connectAs(ctx, config, fresh.User, fresh.Password); refusesLogin(err) {
		l.say(err, "the database refuses the user or password, also those that were read again from the address in `ledger`",
			"err", OneLine(err.Error()))
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.user != fresh.User || l.password != fresh.Password { // another connection may have been first
		l.user, l.password = fresh.User, fresh.Password
		l.log.Warn("the database refused the user or password: read others from the address in `ledger`, and it takes them", "user", fresh.User)
	}
	l.said = ""
	return c, nil
}

func connectAs(ctx context.Context, config *pgx.ConnConfig, user, password string) (*pgx.Conn, error) {
	config = config.Copy()
	config.User, config.Password = user, password
	return pgx.ConnectConfig(ctx, config)
}

// say logs a refusal once until the server takes a login again.
func (l *Login) say(err error, text string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said != text {
		l.said = text
		l.log.Error(text, args...)
	}
}

// refusesLogin reports whether the server refused the user or the password: 28P01
// invalid_password, 28000 invalid_authorization_specification
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
func refusesLogin(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && (said.Code == "28P01" || said.Code == "28000")
}
