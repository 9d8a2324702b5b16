package connector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"campaignd/internal/messaging"
	"campaignd/internal/messaging/cloud"
	"campaignd/internal/messaging/service"
)

// ErrOverCloud means that an operation of the service was asked for a connection of the Cloud API.
// It is also messaging.ErrNotOffered.
var ErrOverCloud = fmt.Errorf("over the Cloud API: %w", messaging.ErrNotOffered)

// ErrNoTemplate means that the account of a connection has no such template.
var ErrNoTemplate = errors.New("the service lists no such template")

// TemplateID returns the id of the template with this name and language in the account of a
// connection. The error may be ErrOverCloud or ErrNoTemplate.
func (s *Set) TemplateID(ctx context.Context, connection, name, language string) (string, error) {
	c, err := s.serviceOf(ctx, connection)
	if err != nil {
		return "", err
	}
	all, err := c.Templates(ctx, connection)
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if t.Name == name && t.Language == messaging.FoldLanguage(language) {
			return t.ID, nil
		}
	}
	return "", ErrNoTemplate
}

// TemplateDays returns what the service counted of the template with this id, from start to end,
// both included. The service has the last 90 days.
func (s *Set) TemplateDays(ctx context.Context, id string, start, end time.Time) ([]service.TemplateDay, error) {
	if s.Service == nil {
		return nil, ErrOverCloud
	}
	return s.Service.TemplateAnalytics(ctx, id, start, end)
}

// SyncTemplates makes the service read the templates of a connection from the platform again. Over
// the Cloud API it drops the listings that are kept, and lists again.
func (s *Set) SyncTemplates(ctx context.Context, connection string) (service.TemplateSync, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return service.TemplateSync{}, err
	}
	if c, ok := w.(*cloud.Client); ok {
		n, err := c.SyncTemplates(ctx, connection)
		return service.TemplateSync(n), err
	}
	return s.Service.SyncTemplates(ctx, connection)
}

// CreateTemplate submits a template for the account of a connection; with a name of the library, a
// copy of its template.
func (s *Set) CreateTemplate(ctx context.Context, connection string, t messaging.TemplateRecord, library string) (
	messaging.TemplateRecord, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	return w.CreateTemplate(ctx, connection, t, library)
}

// EditTemplate replaces the components, the category or both of a template of the account of a
// connection. The platform reviews it again.
func (s *Set) EditTemplate(ctx context.Context, connection, id string, components []messaging.Component, category string) (
	messaging.TemplateRecord, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return messaging.TemplateRecord{}, err
	}
	if c, ok := w.(*cloud.Client); ok {
		return c.EditTemplate(ctx, connection, id, components, category)
	}
	return s.Service.EditTemplate(ctx, id, components, category)
}

// UploadHeader stores a file as the example of a template's media header.
func (s *Set) UploadHeader(ctx context.Context, connection, name, kind string, r io.ReadSeeker) (handle string, err error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return "", err
	}
	if c, ok := w.(*cloud.Client); ok {
		return c.UploadHeader(ctx, connection, name, kind, r)
	}
	handle, _, err = s.Service.UploadHeader(ctx, connection, name, kind, r)
	return handle, err
}

// TemplateLibrary lists the prepared templates whose name contains search. Over the Cloud API the
// error is ErrOverCloud.
func (s *Set) TemplateLibrary(ctx context.Context, connection, search string) ([]messaging.TemplateRecord, error) {
	c, err := s.serviceOf(ctx, connection)
	if err != nil {
		return nil, err
	}
	return c.TemplateLibrary(ctx, search)
}

// Files lists the files of the company of a connection, or all of the service with "".
func (s *Set) Files(ctx context.Context, connection string) ([]service.File, error) {
	if connection == "" && s.Service != nil {
		return s.Service.Files(ctx, "")
	}
	c, err := s.serviceOf(ctx, connection)
	if err != nil {
		return nil, err
	}
	return c.Files(ctx, connection)
}

// serviceOf returns the service if it has the connection, else ErrOverCloud or ErrNone.
func (s *Set) serviceOf(ctx context.Context, connection string) (*service.Client, error) {
	w, err := s.of(ctx, connection)
	if err != nil {
		return nil, err
	}
	if c, ok := w.(*service.Client); ok {
		return c, nil
	}
	return nil, ErrOverCloud
}
