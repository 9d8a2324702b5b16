package api

import (
	"context"
	"errors"
	"strings"
	"testing"

	"campaignd/internal/client"
	"campaignd/internal/messaging"
	"campaignd/internal/messaging/service"
	"campaignd/internal/operator"
)

// fakeService has a connection of each company, and names it in every record.
type fakeService struct {
	operator.Service
	connections []string
	fails       error
}

func (s *fakeService) Connections(context.Context) (all []messaging.Connection, err error) {
	for _, id := range s.connections {
		all = append(all, messaging.Connection{ID: id, CompanyID: "of " + id})
	}
	return all, nil
}

func (s *fakeService) Templates(_ context.Context, connection string) ([]messaging.TemplateRecord, error) {
	return []messaging.TemplateRecord{{Name: "of_" + connection}}, s.fails
}

func (s *fakeService) SyncTemplates(_ context.Context, connection string) (service.TemplateSync, error) {
	return service.TemplateSync{Added: int64(len(connection))}, s.fails
}

func (s *fakeService) Files(_ context.Context, connection string) (all []service.File, _ error) {
	for _, c := range s.connections {
		if connection == "" || c == connection {
			all = append(all, service.File{ID: "of_" + c})
		}
	}
	return all, s.fails
}

// Records of the service are those of the caller's company. A key of all companies names a
// connection, unless there is one account only.
func TestTheServicesRecordsAreOfTheKeysCompany(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		key, path string
		want      string // ids and names, or a code
	}{
		{"read", "templates?connection=conn_1", "of_conn_1"}, {"other", "templates", "of_conn_2"}, {"other", "media", "of_conn_2"},
		{"read", "media", "of_conn_1 of_conn_2"}, {"read", "media?connection=conn_1", "of_conn_1"},
		{"read", "templates", client.CodeInvalid}, {"read", "templates?connection=conn_9", client.CodeNotFound},
		{"other", "templates?connection=conn_1", client.CodeNotFound}, {"other", "media?connection=conn_1", client.CodeNotFound},
	} {
		got := w.ask(t, "GET", "/api/v1/"+c.path, c.key, "").Body.String()
		for want := range strings.FieldsSeq(c.want) {
			if !strings.Contains(got, `"`+want+`"`) {
				t.Errorf("%s with the key %s: got %s, want %s", c.path, c.key, got, c.want)
			}
		}
		if strings.Count(got, "of_conn") != strings.Count(c.want, "of_conn") {
			t.Errorf("%s with the key %s: got %s, want %s alone", c.path, c.key, got, c.want)
		}
	}
	w.ask(t, "POST", "/api/v1/templates/sync?connection=conn_1", "operate", "")
	if actions := w.ask(t, "GET", "/api/v1/actions", "admin", "").Body.String(); !strings.Contains(actions, `"templates sync"`) {
		t.Errorf("got the actions %s, want the sync of templates among them", actions)
	}
}

// A failure of the service is told as its own, and is no fault of campaignd.
func TestAFailureOfTheServiceIsNamed(t *testing.T) {
	w := newWorld(t)
	requests := map[string]string{"/api/v1/templates?connection=conn_1": "GET", "/api/v1/media": "GET",
		"/api/v1/templates/sync?connection=conn_1": "POST"}
	for status, err := range map[int]error{501: messaging.ErrNotOffered, 502: errors.New("away")} {
		w.process.Session.Service = &fakeService{connections: []string{"conn_1"}, fails: err}
		for path, method := range requests {
			wantError(t, path, w.ask(t, method, path, "admin", ""), status,
				map[int]string{501: client.CodeNotOffered, 502: client.CodeService}[status])
		}
	}
	w.process.Session.Service = nil
	for path, method := range requests {
		wantError(t, path+" without a service", w.ask(t, method, path, "admin", ""), 400, client.CodeInvalid)
	}
}
