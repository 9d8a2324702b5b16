package daemon

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"campaignd/internal/messaging"
)

// readEnvironment lays CAMPAIGND_SECTION_KEY over c: the names follow the YAML keys, so that
// there is one list of them. A value is read as YAML is, so numbers takes
// CAMPAIGND_NUMBERS='{conn_1: {rate: 80}}'. Variables that name no key are left alone:
// Kubernetes sets CAMPAIGND_SERVICE_HOST and CAMPAIGND_PORT for a Service named campaignd.
func (c *Config) readEnvironment(getenv func(string) string) error {
	return walkEnvironment(reflect.ValueOf(c).Elem(), "CAMPAIGND", "", getenv)
}

func walkEnvironment(v reflect.Value, prefix, secret string, getenv func(string) string) error {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[messaging.Secret]() {
		for f, field := range v.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if err := walkEnvironment(field, prefix+"_"+strings.ToUpper(key), f.Tag.Get("secret"), getenv); err != nil {
				return err
			}
		}
		return nil
	}
	text := getenv(prefix)
	if secret != "" {
		var err error
		if text, err = secretText(prefix, text, getenv); err != nil {
			return err
		}
	}
	if text == "" {
		return nil
	}
	if err := setFromText(v, text); err != nil {
		return fmt.Errorf("%s in the environment: want %s", prefix, wanted(v.Type()))
	}
	return nil
}

// secretText reads NAME_FILE when it is set: Kubernetes and systemd hand secrets over as files.
func secretText(name, text string, getenv func(string) string) (string, error) {
	file := getenv(name + "_FILE")
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

// setFromText parses text for the type of v. Text stays as it is; a list of secrets has one
// per line or comma; everything else is YAML in flow style.
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

// unmarshalText is strict YAML, behind a recover as everywhere.
func unmarshalText(text string, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not YAML: %v", p)
		}
	}()
	return yaml.UnmarshalWithOptions([]byte(text), into, yaml.Strict())
}

// wanted says what a value of type t looks like, to a person.
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
