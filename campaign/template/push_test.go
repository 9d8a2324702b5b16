package template

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
)

// account is a service that keeps templates, and refuses those of the names in refuse.
type account struct {
	listed   []messaging.TemplateRecord
	library  []messaging.TemplateRecord // nil: not offered
	refuse   map[string]*messaging.Error
	calls    []string
	asked    []string // for which connection the templates were, and what was searched in whose library
	uploaded string
}

func (a *account) Templates(_ context.Context, c string) ([]messaging.TemplateRecord, error) {
	a.asked = append(a.asked, c)
	return a.listed, nil
}

func (a *account) TemplateLibrary(_ context.Context, c, search string) ([]messaging.TemplateRecord, error) {
	a.asked = append(a.asked, c+" "+search)
	if a.library == nil {
		return nil, messaging.ErrNotOffered
	}
	var out []messaging.TemplateRecord
	for _, l := range a.library {
		if strings.Contains(l.Name, search) {
			out = append(out, l)
		}
	}
	return out, nil
}

func (a *account) CreateTemplate(_ context.Context, c string, t messaging.TemplateRecord, library string) (
	messaging.TemplateRecord, error) {
	a.calls = append(a.calls, fmt.Sprintf("create %s %s %s%s", c, t.Name, t.Language, library))
	if e := a.refuse[t.Name]; e != nil {
		return messaging.TemplateRecord{}, e
	}
	t.ID, t.Status = fmt.Sprintf("tpl_%d", len(a.listed)+1), "PENDING"
	a.listed = append(a.listed, t)
	return t, nil
}

func (a *account) EditTemplate(_ context.Context, c, id string, parts []messaging.Component, category string) (
	messaging.TemplateRecord, error) {
	a.calls = append(a.calls, fmt.Sprintf("edit %s %s %d %s", c, id, len(parts), category))
	for i := range a.listed {
		if t := &a.listed[i]; t.ID == id {
			if parts != nil {
				t.Components = parts
			}
			t.Status = "PENDING"
			return *t, nil
		}
	}
	return messaging.TemplateRecord{}, errors.New("no such id")
}

func (a *account) UploadHeader(_ context.Context, c, name, kind string, r io.ReadSeeker) (string, error) {
	text, err := io.ReadAll(r)
	a.uploaded = fmt.Sprintf("%s %s %s %d", c, name, kind, len(text))
	return "handle-1", err
}

// pushed reads a folder, compares and pushes it.
func (a *account) pushed(t *testing.T, files map[string]string) []Pushed {
	t.Helper()
	all, err := ReadFolder(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	compared, err := Compare(t.Context(), a, "conn_1", all)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Push(t.Context(), a, "conn_1", compared)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func words(all []Pushed) (out []string) {
	for _, p := range all {
		out = append(out, fmt.Sprintf("%s %s %s", p.Name, p.Action, p.Status))
	}
	return out
}

func TestASecondPushChangesNothing(t *testing.T) {
	a := &account{}
	files := map[string]string{"sale.en_US.yaml": withMedia, "banner.jpg": jpeg}
	if got, want := words(a.pushed(t, files)), []string{"sale created PENDING"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the first push: got %q, want %q", got, want)
	}
	handle := a.listed[0].Components[0].Example.HeaderHandle
	if got := handle; a.uploaded != "conn_1 banner.jpg image/jpeg 11" || len(got) != 1 || got[0] != "handle-1" {
		t.Errorf("got the upload %q and the handle %q, want those of banner.jpg", a.uploaded, got)
	}
	a.listed[0].Status = "APPROVED"
	a.listed[0].Components[0].Example.HeaderHandle = []string{"https://media.example/1"}
	if got, want := words(a.pushed(t, files)), []string{"sale unchanged APPROVED"}; !reflect.DeepEqual(got, want) || len(a.calls) != 1 {
		t.Errorf("the second push: got %q by %q, want %q and no call more", got, a.calls, want)
	}
	files["sale.en_US.yaml"] = strings.Replace(withMedia, "new offers", "best offers", 1)
	got, want := words(a.pushed(t, files)), []string{"sale edited PENDING"}
	if !reflect.DeepEqual(got, want) || a.calls[1] != "edit conn_1 tpl_1 4 " {
		t.Errorf("the third push: got %q by %q, want %q", got, a.calls, want)
	}
}

func TestARefusalDoesNotStopTheOthers(t *testing.T) {
	a := &account{refuse: map[string]*messaging.Error{"sale": {Status: 409, Code: "template_name_blocked", Message: "deleted"}}}
	got := a.pushed(t, map[string]string{"sale.en_US.yaml": good, "zeta.en_US.yaml": strings.Replace(good, "name: sale", "name: zeta", 1)})
	if want := []string{"sale refused ", "zeta created PENDING"}; !reflect.DeepEqual(words(got), want) {
		t.Errorf("got %q, want %q", words(got), want)
	}
	const want = "template_name_blocked, HTTP 409: deleted; the name was deleted in the last 30 days: choose another name"
	if got[0].Error != want {
		t.Errorf("got %q, want %q", got[0].Error, want)
	}
}

// An answer that is not about the template stops the push: the others would have the same.
func TestAnyOtherFailureStopsThePush(t *testing.T) {
	a := &account{refuse: map[string]*messaging.Error{"sale": {Status: 503, Code: "http_503"}}}
	all, err := ReadFolder(folder(t, map[string]string{"abc.en_US.yaml": strings.Replace(good, "name: sale", "name: abc", 1),
		"sale.en_US.yaml": good, "zeta.en_US.yaml": strings.Replace(good, "name: sale", "name: zeta", 1)}))
	if err != nil {
		t.Fatal(err)
	}
	compared, err := Compare(t.Context(), a, "conn_1", all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Push(t.Context(), a, "conn_1", compared)
	if err == nil || !strings.Contains(err.Error(), "sale.en_US.yaml: http_503") || len(got) != 1 || got[0].Action != Created {
		t.Errorf("got %+v and %v, want what was done before the failure, and its file", got, err)
	}
}

func TestDifferencesNameBothSides(t *testing.T) {
	a := &account{}
	a.pushed(t, map[string]string{"sale.en_US.yaml": good})
	a.listed[0].Category, a.listed[0].Components[0].Format = "UTILITY", "VIDEO"
	changed := strings.NewReplacer("text: Bye", "text: Ciao", "    - {type: QUICK_REPLY, text: No}\n", "", "Ada", "Eve").Replace(good)
	all, err := ReadFolder(folder(t, map[string]string{"sale.en_US.yaml": changed}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Compare(t.Context(), a, "conn_1", all)
	want := []string{`category: the service has "UTILITY", the file "MARKETING"`,
		`header.format: the service has "VIDEO", the file "TEXT"`,
		`body.example.body_text: the service has "Ada | 12", the file "Eve | 12"`,
		`footer.text: the service has "Bye", the file "Ciao"`,
		`buttons[1].type: the service has "QUICK_REPLY", the file nothing`, `buttons[1].text: the service has "No", the file nothing`}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Differences, want) || got[0].Same() {
		t.Errorf("got %q and %v, want %q", got[0].Differences, err, want)
	}
}

func TestALibraryTemplateIsComparedWithTheLibrary(t *testing.T) {
	parts := []messaging.Component{{Type: "BODY", Text: "Your order is on its way."}}
	a := &account{library: []messaging.TemplateRecord{{Name: "delivery_update", Language: "en_US", Category: "UTILITY", Components: parts}}}
	files := map[string]string{"order.en_US.yaml": "name: order\nlanguage: en_US\nlibraryName: delivery_update\n"}
	a.pushed(t, files)
	if want := "create conn_1 order en_USdelivery_update"; len(a.calls) != 1 || a.calls[0] != want || a.listed[0].Components != nil {
		t.Errorf("got %q with %v, want %q without components", a.calls, a.listed[0].Components, want)
	}
	a.listed[0].Components, a.listed[0].Category = parts, "UTILITY"
	if got, want := words(a.pushed(t, files)), []string{"order unchanged PENDING"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	all, err := ReadFolder(folder(t, map[string]string{"order.en_US.yaml": "name: order\nlanguage: en_US\nlibraryName: delivery\n"}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Compare(t.Context(), a, "conn_1", all)
	fault := (*file.Error)(nil)
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), `yaml:3:1: libraryName: the library has no template "delivery"`) {
		t.Errorf("got %v, want the fault at its line", err)
	}
}
