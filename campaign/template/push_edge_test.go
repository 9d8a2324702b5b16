package template

import (
	"reflect"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

// A refusal is about the one template, or is the answer to every other template too.
func TestOnlyARefusalOfOneTemplateLetsTheOthersPass(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		passes bool
	}{
		{400, "invalid_template", true}, {409, "template_exists", true}, {413, "header_too_large", true}, {415, "header_type", true},
		{403, "business_not_verified", true},
		{401, "unauthorized", false}, {402, "plan", false}, {403, "forbidden", false}, {404, "no_connection", false},
		{429, "rate_limited", false}, {500, "server", false}, {502, "http_502", false},
	} {
		a := &account{refuse: map[string]*messaging.Error{"sale": {Status: c.status, Code: c.code}}}
		all, err := ReadFolder(folder(t, map[string]string{"sale.en_US.yaml": good,
			"zeta.en_US.yaml": strings.Replace(good, "name: sale", "name: zeta", 1)}))
		if err != nil {
			t.Fatal(err)
		}
		compared, err := Compare(t.Context(), a, "conn_1", all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Push(t.Context(), a, "conn_1", compared)
		want := []string{"sale refused ", "zeta created PENDING"}
		if passes := err == nil && reflect.DeepEqual(words(got), want); passes != c.passes || !c.passes && (err == nil || len(got) > 0) {
			t.Errorf("%d %s: got %q and %v; want the next one pushed: %v", c.status, c.code, words(got), err, c.passes)
		}
	}
}

// One name has a template in each language, and another name has the same language.
func TestATemplateIsComparedInItsOwnLanguage(t *testing.T) {
	french := strings.NewReplacer("en_US", "fr", "text: Bye", "text: Adieu").Replace(good)
	offer := strings.NewReplacer("name: sale", "name: offer", "text: Bye", "text: Later").Replace(good)
	files := map[string]string{"sale.fr.yaml": french, "sale.en_US.yaml": good, "offer.en_US.yaml": offer}
	a := &account{}
	a.pushed(t, files)
	for i := range a.listed { // in another order than the files
		a.listed[i].Status = []string{"APPROVED", "PAUSED", "REJECTED"}[i]
	}
	a.listed[0], a.listed[2] = a.listed[2], a.listed[0]
	got := words(a.pushed(t, files))
	want := []string{"offer unchanged APPROVED", "sale unchanged PAUSED", "sale unchanged REJECTED"}
	if !reflect.DeepEqual(got, want) || len(a.calls) != 3 {
		t.Errorf("unchanged files: got %q after %q, want %q and three calls", got, a.calls, want)
	}
	files["sale.en_US.yaml"] = strings.Replace(good, "Bye", "Ciao", 1)
	got = words(a.pushed(t, files))
	want = []string{"offer unchanged APPROVED", "sale edited PENDING", "sale unchanged REJECTED"}
	if last := a.calls[len(a.calls)-1]; !reflect.DeepEqual(got, want) || last != "edit conn_1 tpl_2 4 " {
		t.Errorf("one changed file: got %q by %q, want %q of tpl_2", got, last, want)
	}
}

func TestEachDifferenceIsPushed(t *testing.T) {
	good := strings.Replace(good, "{type: QUICK_REPLY, text: No}", `{type: PHONE_NUMBER, text: Call, phone_number: "+237650000001"}`, 1)
	for name, c := range map[string]struct{ part, with, call string }{
		"the category with a text": {"MARKETING", "UTILITY", "edit conn_7 tpl_1 4 UTILITY"},
		"the number of a button":   {"+237650000001", "+237650000002", "edit conn_7 tpl_1 4 "},
		"the label of a button":    {"text: Open", "text: Look", "edit conn_7 tpl_1 4 "},
		"the address of a button":  {"shop.example", "store.example", "edit conn_7 tpl_1 4 "},
		"an example":               {"Ada", "Eve", "edit conn_7 tpl_1 4 "},
	} {
		a := &account{}
		changed := strings.Replace(good, c.part, c.with, 1)
		if name == "the category with a text" {
			changed = strings.Replace(changed, "Bye", "Ciao", 1)
		}
		for _, text := range []string{good, changed} {
			all, err := ReadFolder(folder(t, map[string]string{"sale.en_US.yaml": text}))
			if err != nil {
				t.Fatal(err)
			}
			compared, err := Compare(t.Context(), a, "conn_7", all)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Push(t.Context(), a, "conn_7", compared); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"create conn_7 sale en_US", c.call}
		if asked := []string{"conn_7", "conn_7"}; !reflect.DeepEqual(a.calls, want) || !reflect.DeepEqual(a.asked, asked) {
			t.Errorf("%s: got %q after the listings of %q, want %q of %q", name, a.calls, a.asked, want, asked)
		}
	}
}

// The category of the file is what the copy is created with; once there is one, the library's
// template has no category that could be edited.
func TestACopyOfTheLibraryKeepsItsCategory(t *testing.T) {
	parts := []messaging.Component{{Type: "BODY", Text: "Your order is on its way."}}
	for own, want := range map[string]string{"category: MARKETING\n": "MARKETING", "": "UTILITY"} {
		a := &account{library: []messaging.TemplateRecord{{Name: "delivery_update", Language: "en_US", Category: "UTILITY", Components: parts}}}
		files := map[string]string{"order.en_US.yaml": "name: order\nlanguage: en_US\n" + own + "libraryName: delivery_update\n"}
		a.pushed(t, files)
		if got := a.listed[0].Category; got != want || !reflect.DeepEqual(a.asked, []string{"conn_1", "conn_1 delivery_update"}) {
			t.Errorf("%q: got the category %q after asking for %q; want %q", own, got, a.asked, want)
		}
		a.listed[0].Category, a.listed[0].Components = "AUTHENTICATION", []messaging.Component{{Type: "BODY", Text: "Another text."}}
		a.pushed(t, files)
		if got := a.calls[len(a.calls)-1]; got != "edit conn_1 tpl_1 1 " {
			t.Errorf("%q: another text at the service: got %q, want an edit of one component and no category", own, got)
		}
	}
}
