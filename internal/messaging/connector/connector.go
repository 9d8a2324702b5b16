// Package connector joins the connectors of one process: the service of the document and the
// platform's own Cloud API. [Set] has the methods of both, and asks the one that has the
// connection. Nothing above it knows which one that is; a method that only the service has is
// called on Set.Service, which is nil without a service.
package connector

import (
	"context"
	"errors"
	"io"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/messaging/service"
)

// Set has at least one connector.
type Set struct {
	Service *service.Client // nil: none
	Cloud   *cloud.Client   // nil: none
}

// ErrNone means that no connector is configured.
var ErrNone = errors.New("neither service.api_key nor cloud.accounts is configured")

var _ messaging.Service = (*Set)(nil)

// wire is what both connectors have.
type wire interface {
	messaging.Service
	Send(context.Context, *messaging.Message) (messaging.Receipt, error)
	Warm(context.Context) error
	CreateTemplate(context.Context, string, messaging.TemplateRecord, string) (messaging.TemplateRecord, error)
	Close()
	Clock() (time.Time, bool)
}

// all returns the connectors that are there.
func (s *Set) all() (all []wire) {
	if s.Service != nil {
		all = append(all, s.Service)
	}
	if s.Cloud != nil {
		all = append(all, s.Cloud)
	}
	return all
}

// of returns the connector of a connection. It lists the numbers of the Cloud API if that was never
// done: the id alone does not tell whose it is.
func (s *Set) of(ctx context.Context, connection string) (wire, error) {
	switch {
	case s.Cloud == nil && s.Service == nil:
		return nil, ErrNone
	case s.Cloud == nil:
		return s.Service, nil
	case s.Service == nil:
		return s.Cloud, nil
	}
	owns, err := s.Cloud.Owns(ctx, connection)
	if err != nil {
		return nil, err
	}
	if owns {
		return s.Cloud, nil
	}
	return s.Service, nil
}

// Send posts one message once, by the connector of its connection. An error before it is posted has
// the Proof NotSent.
func (s *Set) Send(ctx context.Context, m *messaging.Message) (messaging.Receipt, error) {
	w, err := s.of(ctx, m.ConnectionID)
	if err != nil {
		return messaging.Receipt{}, cloud.NotSent(err)
	}
	return w.Send(ctx, m)
}

// Clock returns the time by the clock of a service that has answered; false: none has.
func (s *Set) Clock() (at time.Time, ok bool) {
	for _, w := range s.all() {
		if at, ok = w.Clock(); ok {
			return at, true
		}
	}
	return at, false
}

// Warm makes a connection for messages of each connector.
func (s *Set) Warm(ctx context.Context) error {
	var errs []error
	for _, w := range s.all() {
		errs = append(errs, w.Warm(ctx))
	}
	return errors.Join(errs...)
}

// Connections lists the connections of all connectors. The error is the first one's.
func (s *Set) Connections(ctx context.Context) (all []messaging.Connection, err error) {
	for _, w := range s.all() {
		of, err := w.Connections(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// Numbers lists the health of the numbers of all connectors. A connector that does not offer the
// list has none; the error is messaging.ErrNotOffered if no other has any.
func (s *Set) Numbers(ctx context.Context) (all []messaging.Number, err error) {
	var missing error
	for _, w := range s.all() {
		of, err := w.Numbers(ctx)
		switch {
		case errors.Is(err, messaging.ErrNotOffered):
			missing = err
		case err != nil:
			return nil, err
		}
		all = append(all, of...)
	}
	if len(all) > 0 {
		missing = nil
	}
	return all, missing
}

// Templates lists the templates of the account of a connection.
func (s *Set) Templates(ctx context.Context, connection string) ([]messaging.TemplateRecord, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return nil, err
	}
	return w.Templates(ctx, connection)
}

// UploadMedia stores a file by the connector of a connection.
func (s *Set) UploadMedia(ctx context.Context, connection, name, kind string, r io.Reader) (messaging.Asset, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return messaging.Asset{}, err
	}
	return w.UploadMedia(ctx, connection, name, kind, r)
}

// Close closes the idle connections.
func (s *Set) Close() {
	for _, w := range s.all() {
		w.Close()
	}
}

// Asked returns the operations of the service that were called so far and that its document does
// not show: those that it offers, and those that it does not have.
func (s *Set) Asked() (offered, absent []string) {
	if s.Service == nil {
		return nil, nil
	}
	return s.Service.Asked()
}
