package launch_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"campaignd/campaign/launch"
	"campaignd/internal/messaging"
)

// account is a service with a few connections.
type account struct {
	connections []messaging.Connection
	numbers     []messaging.Number
	templates   map[string][]messaging.TemplateRecord
	err         error
	notOffered  bool
	unknown     string // a connection of which the service has never heard
}

func (a *account) Connections(context.Context) ([]messaging.Connection, error) {
	return a.connections, a.err
}

func (a *account) Numbers(context.Context) ([]messaging.Number, error) {
	if a.notOffered {
		return nil, messaging.ErrNotOffered
	}
	return a.numbers, nil
}

func (a *account) Templates(_ context.Context, id string) ([]messaging.TemplateRecord, error) {
	if a.notOffered {
		return nil, messaging.ErrNotOffered
	}
	if a.unknown == id {
		return nil, &messaging.Error{Status: 404, Code: "connection_not_found"}
	}
	return a.templates[id], nil
}

func (a *account) UploadMedia(context.Context, string, string, string, io.Reader) (messaging.Asset, error) {
	return messaging.Asset{}, errors.New("a preflight uploads nothing")
}

// spring is a template with every part that a campaign can fill.
func spring() messaging.TemplateRecord {
	return messaging.TemplateRecord{Name: "spring_sale", Language: "en_US", Status: "APPROVED", Category: "MARKETING",
		Components: []messaging.Component{
			{Type: "HEADER", Format: "IMAGE"},
			{Type: "BODY", Text: "Hi {{1}}, {{2}} off."},
			{Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "URL", URL: "https://example.com/{{1}}"}, {Type: "PHONE_NUMBER"},
				{Type: "URL", URL: "https://example.com/terms"}}},
		}}
}

func service() *account {
	return &account{
		connections: []messaging.Connection{{ID: "conn_1", Phone: "+234 803 123 4599", Status: "CONNECTED"},
			{ID: "conn_2", Phone: "+2348031234598"}},
		numbers: []messaging.Number{
			{ConnectionID: "conn_1", Quality: "GREEN", Tier: "TIER_2K", TierLimit: 2000, Throughput: 80},
			{ConnectionID: "conn_2", Quality: "GREEN", TierLimit: 2000, Coexistence: true},
		},
		templates: map[string][]messaging.TemplateRecord{"conn_1": {spring()}, "conn_2": {spring()}},
	}
}

const springFile = `name: spring-sale
connections: [conn_1, conn_2]
template:
  name: spring_sale
  language: en_US
  body: ["{{ .first_name }}", "{{ .discount }}"]
  header: {image: {assetId: ast_1}}
  buttons: [{type: url, text: "{{ .slug }}"}]
recipients: {columns: {to: phone}, validate: possible}
`

const springList = `phone,first_name,discount,slug
+2348031234501,Ada,20 %,a
+2348031234502,Bola,20 %,b
+33612345678,Chloe,20 %,c
+12025550143,Dan,20 %,d
+16135550143,Eve,20 %,e
+2348031234599,Self,20 %,f
+2348031234501,Ada,20 %,g
+2348031234503,,20 %,h
`

func springInput(t *testing.T, file, list string) launch.PreflightInput {
	t.Helper()
	return launch.PreflightInput{
		Definition: parse(t, file), Source: []byte(file), File: filepath.Join(t.TempDir(), "spring.yaml"),
		List: writeFile(t, "list.csv", list), Service: service(),
	}
}

func preflight(t *testing.T, in launch.PreflightInput) *launch.Preflight {
	t.Helper()
	p, err := launch.RunPreflight(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
