package daemon

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"campaignd/internal/messaging"
	"campaignd/internal/spelling"
)

// readEnvironment copies the variables CAMPAIGND_SECTION_KEY to c. The names are made from the YAML
// keys, so there is one list of both. A value is read as YAML: numbers takes
// CAMPAIGND_NUMBERS='{conn_1: {rate: 80}}'. A variable whose name is nearly that of a key is
// refused.
func (c *Config) readEnvironment(environment map[string]string) error {
	known, err := walkEnvironment(reflect.ValueOf(c).Elem(), "CAMPAIGND", "", environment)
	if err != nil {
		return err
	}
	return nearMiss(known, environment)
}

// walkEnvironment sets v from the variables that begin with prefix. known holds the names of all
// variables that v can be set from.
func walkEnvironment(v reflect.Value, prefix, secret string, environment map[string]string) (known []string, err error) {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[messaging.Secret]() {
		for f, field := range v.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			below, err := walkEnvironment(field, prefix+"_"+strings.ToUpper(key), f.Tag.Get("secret"), environment)
			if err != nil {
				return nil, err
			}
			known = append(known, below...)
		}
		return known, nil
	}
	known = []string{prefix}
	text := environment[prefix]
	if secret != "" {
		known = append(known, prefix+"_FILE")
		if text, err = secretText(prefix, text, environment); err != nil {
			return nil, err
		}
	}
	if text == "" {
		return known, nil
	}
	if err := setFromText(v, text); err != nil {
		return nil, fmt.Errorf("%s in the environment: want %s", prefix, wanted(v.Type()))
	}
	return known, nil
}

// discovery matches the variables that Kubernetes sets in each pod for a Service named campaignd or
// campaignd-something: CAMPAIGND_SERVICE_HOST, CAMPAIGND_SERVICE_PORT_ADMIN,
// CAMPAIGND_PORT_8080_TCP_ADDR
// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
var discovery = regexp.MustCompile(`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)

// nearMiss refuses a variable that names no key but is spelled nearly like one. It ignores other
// variables, because other programs use the prefix too.
func nearMiss(known []string, environment map[string]string) error {
	const ours = "CAMPAIGND_"
	keys := make([]string, len(known))
	for i, name := range known {
		keys[i] = strings.TrimPrefix(name, ours)
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		key, ok := strings.CutPrefix(name, ours)
		if !ok || environment[name] == "" || slices.Contains(known, name) || discovery.MatchString(name) {
			continue
		}
		if near := spelling.Nearest(key, keys); near != "" {
			return fmt.Errorf("%s in the environment names no key; did you mean %s%s?", name, ours, near)
		}
	}
	return nil
}

// secretText returns text, or the content of the file that NAME_FILE names: Kubernetes and systemd
// provide secrets as files.
func secretText(name, text string, environment map[string]string) (string, error) {
	file := environment[name+"_FILE"]
	if file == "" {
		return text, nil
	}
	if text != "" {
		return "", fmt.Errorf("%s and %s_FILE are both set: keep one", name, name)
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s_FILE: %w", name, err)
	}
	const most = 64 << 10
	if len(src) > most || !utf8.Valid(src) {
		return "", fmt.Errorf("%s_FILE: %s does not hold a secret as text; it names the file that holds the value", name, file)
	}
	return strings.TrimRight(string(src), "\r\n"), nil
}

// setFromText parses text for the type of v. A string takes text as it is, a list of secrets is
// separated by line breaks or commas, and every other type is YAML in flow style.
func setFromText(v reflect.Value, text string) error {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = text
		return nil
	case *messaging.Secret:
		*p = messaging.NewSecret(text)
		return nil
	case *[]messaging.Secret:
		*p = nil
		for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' }) {
			if s = strings.TrimSpace(s); s != "" {
				*p = append(*p, messaging.NewSecret(s))
			}
		}
		return nil
	}
	fresh := reflect.New(v.Type())
	if err := unmarshalText(text, fresh.Interface()); err != nil {
		return err
	}
	v.Set(fresh.Elem())
	return nil
}

// unmarshalText parses strict YAML. A panic of the parser becomes an error.
func unmarshalText(text string, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML: %v", p)
		}
	}()
	return yaml.UnmarshalWithOptions([]byte(text), into, yaml.Strict())
}

// wanted describes a value of type t for an error text.
func wanted(t reflect.Type) string {
	switch {
	case t == durationType:
		return "a duration such as 10s, 15m or 24h"
	case t.Kind() == reflect.String || t == reflect.TypeFor[messaging.Secret]():
		return "text"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "a whole number"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Slice:
		return "a list such as [a, b]"
	}
	return "keys with values such as {key: value}"
}
