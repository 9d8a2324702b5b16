package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaignd/internal/sandbox/shop/value"
)

// Flaw is the first thing that is wrong in a scenario.
type Flaw struct {
	// Path is the place, such as companies[0].products[1].taxes[0].
	Path    string
	Problem string
}

func (f *Flaw) Error() string { return "commerce." + f.Path + ": " + f.Problem }

// maxGenerated is the largest number of generated customers, and of orders: their texts have seven
// digits.
const maxGenerated = 9_999_999

// Validate checks the scenario and sets its defaults. The error is a *Flaw.
func (sc *Commerce) Validate() error {
	w := walk{names: map[string]bool{}, ids: map[string]string{}}
	for _, w.collect = range []bool{true, false} {
		if err := w.visit(reflect.ValueOf(sc).Elem(), "", ""); err != nil {
			return err
		}
	}
	for i, c := range sc.Companies {
		if max(c.Generate.Customers, c.Generate.Orders) > maxGenerated {
			return &Flaw{fmt.Sprintf("companies[%d].generate", i), fmt.Sprintf("generates more than %d records", maxGenerated)}
		}
	}
	sc.RateLimit.Per = cmp.Or(sc.RateLimit.Per, time.Second)
	return nil
}

// Check refuses a fault that is not a share of the requests. The error is a *Flaw.
func (f Faults) Check() error { return new(walk).visit(reflect.ValueOf(f), "faults", "") }

// walk visits every value of a scenario twice: first it collects the ids and checks the forms, then
// it checks what the references name.
type walk struct {
	collect bool
	company string            // id of the company that is visited, or ""
	names   map[string]bool   // values that may appear once, with their scope
	ids     map[string]string // by id: its kind, and its company
}

// visit checks a value. rules are the rules of its field, or of the field whose element it is.
func (w *walk) visit(v reflect.Value, path, rules string) error {
	switch x := v.Interface().(type) {
	case value.Amount:
		return w.rule(path, rules, x.Text, x.IsNegative(), x.Flaw())
	case value.Stamp:
		return w.rule(path, rules, x.Text, false, x.Flaw())
	case value.Object:
		if _, err := json.Marshal(x); err != nil {
			return &Flaw{path, "has a value that JSON cannot have"}
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.fields(v, path)
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return w.visit(v.Elem(), path, rules)
	case reflect.Slice:
		for i := range v.Len() {
			if err := w.visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i), rules); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			at := path + "." + k.String()
			key, value, _ := strings.Cut(rules, " ")
			if err := w.rule(at, key, k.String(), false, ""); err != nil {
				return err
			}
			if err := w.visit(v.MapIndex(k), at, value); err != nil {
				return err
			}
		}
	case reflect.String:
		if def := alternatives(rules); def != nil && v.String() == "" && v.CanSet() {
			v.SetString(def[0])
		}
		return w.rule(path, rules, v.String(), false, "")
	case reflect.Int, reflect.Int64:
		return w.rule(path, rules, strconv.FormatInt(v.Int(), 10), v.Int() < 0, "")
	case reflect.Float64:
		if f := v.Float(); !(f >= 0 && f <= 1) {
			return &Flaw{path, fmt.Sprintf("%g is not a share between 0 and 1", f)}
		}
	}
	return nil
}

func (w *walk) fields(v reflect.Value, path string) error {
	if c, ok := v.Interface().(Company); ok {
		w.company = c.ID
		defer func() { w.company = "" }()
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		at, rules := path, f.Tag.Get("check")
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		switch scope := v.Type().Name() + "." + f.Name; {
		case w.collect && strings.Contains(rules, "id") && slices.Contains(strings.Fields(rules), "id"):
			id := v.Field(i).String()
			if !value.ULIDForm.MatchString(id) {
				return &Flaw{at, fmt.Sprintf("%.60q is not an id: give a ULID, 26 characters such as 01HZX3V7Q8R9S0T1V2W3X4Y5Z6", id)}
			}
			if w.ids[id] != "" {
				return &Flaw{at, "the id " + id + " is given twice"}
			}
			w.ids[id] = kindOf(v.Type()) + " " + w.company
			continue
		case w.collect:
			for _, rule := range strings.Fields(rules) {
				if rule != "unique" && rule != "sole" {
					continue
				}
				if rule == "sole" {
					scope += " " + w.company
				}
				if err := w.once(scope, v.Field(i), at); err != nil {
					return err
				}
			}
		}
		if err := w.visit(v.Field(i), at, rules); err != nil {
			return err
		}
	}
	return nil
}

// once refuses a text that the scope has already. An error does not show it, because it may be a
// key.
func (w *walk) once(scope string, v reflect.Value, path string) error {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if err := w.once(scope, v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		return nil
	}
	name := scope + "\n" + v.String()
	if v.String() != "" && w.names[name] {
		return &Flaw{path, "the same value is given twice"}
	}
	w.names[name] = true
	return nil
}

// kindOf is the name by which the rules of references call a type.
func kindOf(t reflect.Type) string {
	if t == reflect.TypeFor[TreasuryAccount]() {
		return "treasury_account"
	}
	return strings.ToLower(t.Name())
}

// references are the rules whose value is the id of a record.
var references = []string{"company", "shop", "tax", "collection", "warehouse", "customer", "treasury_account"}

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// IsCurrency reports whether a text has the form of a currency, such as EUR.
func IsCurrency(text string) bool { return currencyForm.MatchString(text) }

// rule applies the rules to one value.
func (w *walk) rule(path, rules, text string, negative bool, flaw string) error {
	if flaw != "" {
		return &Flaw{path, flaw}
	}
	for _, rule := range strings.Fields(rules) {
		switch {
		case (rule == "required" || rule == "given") && strings.TrimSpace(text) == "":
			return &Flaw{path, "is missing"}
		case rule == "natural" && negative:
			return &Flaw{path, text + " is negative"}
		case rule == "currency" && text != "" && !IsCurrency(text):
			return &Flaw{path, fmt.Sprintf("%.60q is not a currency such as EUR", text)}
		case rule == "url" && text != "":
			if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return &Flaw{path, "is not a URL such as https://app.example/cb"}
			}
		case strings.Contains(rule, "|") && !slices.Contains(alternatives(rule), text):
			return &Flaw{path, fmt.Sprintf("%.60q is not one of %s", text, strings.Join(alternatives(rule), ", "))}
		case !w.collect && slices.Contains(references, rule) && text != "":
			kind, company, _ := strings.Cut(w.ids[text], " ")
			if kind != rule || company != w.company && rule != "company" {
				return &Flaw{path, fmt.Sprintf("no %s of this company has the id %.60q", rule, text)}
			}
		}
	}
	return nil
}

// alternatives are the values that a rule such as live|sandbox allows. The first is the default.
func alternatives(rules string) []string {
	for _, rule := range strings.Fields(rules) {
		if strings.Contains(rule, "|") {
			return strings.Split(rule, "|")
		}
	}
	return nil
}
