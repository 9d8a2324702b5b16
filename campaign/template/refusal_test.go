package template

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"campaignd/internal/messaging"
)

func TestARefusalNamesItsRemedy(t *testing.T) {
	for code, want := range map[string]string{
		"template_exists":       "`campaignd templates sync --connection conn_1`",
		"template_name_blocked": "choose another name",
		"template_not_editable": "never the category",
		"template_edit_limit":   "push again later",
		"business_not_verified": "verify the business",
		"invalid_template":      "HTTP 409",
	} {
		a := &account{refuse: map[string]*messaging.Error{"sale": {Status: 409, Code: code}}}
		got := a.pushed(t, map[string]string{"sale.en_US.yaml": good})
		if len(got) != 1 || got[0].Action != Refused || !strings.Contains(got[0].Error, want) {
			t.Errorf("%s: got %+v, want it refused with %q", code, got, want)
		}
	}
}

// The components of an approved template may stay as they are while its category is asked for.
func TestACategoryAloneIsEditedAlone(t *testing.T) {
	a := &account{}
	a.pushed(t, map[string]string{"sale.en_US.yaml": good})
	a.listed[0].Status, a.calls = "REJECTED", nil
	a.pushed(t, map[string]string{"sale.en_US.yaml": strings.Replace(good, "MARKETING", "UTILITY", 1)})
	if want := []string{"edit conn_1 tpl_1 0 UTILITY"}; !reflect.DeepEqual(a.calls, want) {
		t.Errorf("got %q, want %q", a.calls, want)
	}
}

// The service judges the name then, and its template is not compared.
func TestALibraryThatIsNotOfferedIsNotCompared(t *testing.T) {
	a := &account{}
	files := map[string]string{"order.en_US.yaml": "name: order\nlanguage: en_US\ncategory: UTILITY\nlibraryName: delivery_update\n"}
	for _, want := range []string{"order created PENDING", "order unchanged PENDING"} {
		if got := words(a.pushed(t, files)); len(got) != 1 || got[0] != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if want := []string{"create conn_1 order en_USdelivery_update"}; !reflect.DeepEqual(a.calls, want) {
		t.Errorf("got %q, want %q", a.calls, want)
	}
}

// The file of a header can go between the rules and the push.
func TestAHeaderThatIsGoneStopsThePush(t *testing.T) {
	a := &account{}
	dir := folder(t, map[string]string{"sale.en_US.yaml": withMedia, "banner.jpg": jpeg})
	all, err := ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	compared, err := Compare(t.Context(), a, "conn_1", all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "banner.jpg")); err != nil {
		t.Fatal(err)
	}
	if got, err := Push(t.Context(), a, "conn_1", compared); err == nil || len(got) > 0 || len(a.calls) > 0 {
		t.Errorf("got %+v and %v after %q, want an error and no call", got, err, a.calls)
	}
}

func TestPartsInTheWrongPlaceAreTold(t *testing.T) {
	for _, c := range []struct{ part, with, want string }{
		{"  - {type: FOOTER, text: Bye}", "  - {type: FOOTER, text: Bye}\n  - {type: FOOTER, text: Bye}",
			"components[3]: a second footer; keep one"},
		{"  - {type: FOOTER, text: Bye}", "  - type: BODY\n    text: Hello", "components[2]: a second body (2388072); keep one"},
		{"  - {type: HEADER, format: TEXT, text: Spring}\n", "", ""},
		{"  - {type: HEADER, format: TEXT, text: Spring}\n  - type: BODY\n", "  - type: BODY\n    file: a.jpg\n", "only a header has a file"},
		{"format: TEXT, text: Spring", "format: IMAGE, file: a.jpg, example: {header_handle: [h]}",
			"file and example.header_handle are both given"},
		{"format: TEXT, text: Spring", "format: IMAGE, example: {header_handle: [h]}", ""},
		{"format: TEXT, text: Spring", "format: TEXT, text: \"{{1}} {{2}}\"", "components[0].text: more than one variable (2388047)"},
		{"components:", "libraryName: x\ncomponents:", "libraryName: the template has components too"},
		{"name: sale", "name: null", "name: missing"},
		{"type: QUICK_REPLY", "type: PHONE_NUMBER", "phone_number: want a phone number"},
		{"type: QUICK_REPLY", "type: QUICK", "buttons[1].type: \"QUICK\" is no type of button"},
	} {
		_, err := Parse("f.yaml", []byte(spoiltBy(t, c.part, c.with)))
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.with, err, c.want)
		}
	}
}

// Editors differ in line ends, and a text of several lines is written as a block.
func TestLineEndsAndBlocksChangeNothing(t *testing.T) {
	block := strings.Replace(good, "text: Hi {{1}}, these", "text: |\n      Hi {{1}}, these", 1)
	for name, text := range map[string]string{
		"line ends": strings.ReplaceAll(good, "\n", "\r\n"), "byte order mark": "\uFEFF" + good, "block": block,
	} {
		got, err := Parse("f.yaml", []byte(text))
		want, _ := Parse("f.yaml", []byte(good))
		if err != nil || !reflect.DeepEqual(got.Components, want.Components) {
			t.Errorf("%s: got %+v and %v, want %+v", name, got, err, want.Components)
		}
	}
}

func TestAFileThatCannotBeReadIsToldWithTheOthers(t *testing.T) {
	dir := folder(t, map[string]string{"sale.en_US.yaml": good, "big.en_US.yaml": strings.Repeat("#", 1<<20+1)})
	if err := os.Symlink("nowhere", filepath.Join(dir, "gone.en_US.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := ReadFolder(dir)
	if err == nil {
		t.Fatal("got no error, want two faults")
	}
	for _, want := range []string{"big.en_US.yaml:1:1: the file has 1048577 bytes; a template file has at most 1048576", "gone.en_US.yaml: "} {
		if !strings.Contains(err.Error(), filepath.Join(dir, want)) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if _, err := ReadFile(filepath.Join(dir, "absent.yaml")); err == nil || errors.Unwrap(err) == nil {
		t.Errorf("got %v, want the cause of a file that does not exist", err)
	}
}
