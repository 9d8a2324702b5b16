package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/connector"
	"campaignd/internal/messaging/service"
	"campaignd/internal/sentence"
	"campaignd/reporting"
)

// Service is what operators ask of the messaging service, which the ledger does not know. Errors
// may be messaging.ErrNotOffered.
type Service interface {
	reporting.TemplateCounter
	Connections(ctx context.Context) ([]messaging.Connection, error)
	Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error)
	SyncTemplates(ctx context.Context, connection string) (service.TemplateSync, error)
	Files(ctx context.Context, connection string) ([]service.File, error)
}

var _ Service = (*connector.Set)(nil)

// ErrService wraps the failures of the messaging service.
var ErrService = errors.New("the messaging service")

// Account is a business account at the service: a connection to name it by, and all of its
// connections.
type Account struct {
	Connection string
	All        []string
}

// ChooseAccount returns the account of a connection of a list. Without a connection there must be
// one account only. The error is ErrInvalid, or ErrAbsent for a connection that is not listed.
func ChooseAccount(listed []messaging.Connection, connection string) (Account, error) {
	accountOf := func(k messaging.Connection) string { return cmp.Or(k.AccountID, k.CompanyID, k.ID) }
	members := map[string][]string{} // connections by account
	var ids []string
	for _, k := range listed {
		ids = append(ids, k.ID)
		members[accountOf(k)] = append(members[accountOf(k)], k.ID)
	}
	at := slices.Index(ids, connection)
	switch {
	case connection == "" && len(members) == 1:
		at = 0
	case connection == "":
		return Account{}, invalid("the key reaches %s: give --connection, such as --connection %s",
			sentence.Count(len(members), "account", "accounts"), cmp.Or(strings.Join(ids[:min(1, len(ids))], ""), "conn_1"))
	case at < 0:
		return Account{}, &fault{fmt.Sprintf("the service lists no connection %q; %s", connection, sentence.DidYouMean(connection, ids)),
			ErrAbsent}
	}
	return Account{ids[at], members[accountOf(listed[at])]}, nil
}

// account asks the service for its connections, and chooses the account of one that the session may
// see.
func (d *Session) account(ctx context.Context, connection string) (Account, error) {
	listed, err := d.listed(ctx)
	if err != nil {
		return Account{}, err
	}
	return ChooseAccount(listed, connection)
}

// listed returns the connections of the service that the session may see.
func (d *Session) listed(ctx context.Context) ([]messaging.Connection, error) {
	if d.Service == nil {
		return nil, invalid("no service is configured (service.api_key)")
	}
	listed, err := d.Service.Connections(ctx)
	if err != nil {
		return nil, failed(err)
	}
	if d.Company != "" {
		of := d.Origins(ctx, nil)
		listed = slices.DeleteFunc(listed, func(k messaging.Connection) bool { return of(k.ID).Company != d.Company })
	}
	return listed, nil
}

// failed marks an error of the service.
func failed(err error) error { return fmt.Errorf("%w: %w", ErrService, err) }

// Templates lists the templates of the account of a connection; "" is the only account.
func (d *Session) Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error) {
	a, err := d.account(ctx, connection)
	if err != nil {
		return nil, err
	}
	all, err := d.Service.Templates(ctx, a.Connection)
	if err != nil {
		return nil, failed(err)
	}
	return append([]messaging.TemplateRecord{}, all...), nil
}

// SyncTemplates has the service read the templates of the account of a connection from the platform
// again; "" is the only account.
func (d *Session) SyncTemplates(ctx context.Context, connection string) (service.TemplateSync, error) {
	a, err := d.account(ctx, connection)
	if err != nil {
		return service.TemplateSync{}, err
	}
	if err := d.note(ctx, "templates sync", a.Connection, ""); err != nil {
		return service.TemplateSync{}, err
	}
	s, err := d.Service.SyncTemplates(ctx, a.Connection)
	if err != nil {
		return s, failed(err)
	}
	return s, nil
}

// Media lists the files that the service keeps for the company of a connection; "" lists those of
// all companies that the session may see.
func (d *Session) Media(ctx context.Context, connection string) ([]service.File, error) {
	listed, err := d.listed(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case connection != "":
		if _, err := ChooseAccount(listed, connection); err != nil {
			return nil, err
		}
	case d.Company != "" && len(listed) == 0:
		return []service.File{}, nil
	case d.Company != "": // every file belongs to the company of any of its connections
		connection = listed[0].ID
	}
	all, err := d.Service.Files(ctx, connection)
	if err != nil {
		return nil, failed(err)
	}
	return append([]service.File{}, all...), nil
}
