package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"campaignd/internal/messaging"
	"campaignd/internal/operations"
	"campaignd/internal/sentence"
	"campaignd/internal/yamlfile"
)

// readEnvironment copies the variables CAMPAIGND_SECTION_KEY to c. The names are made from the YAML
// keys, so there is one list of both. A value is read as YAML: numbers takes
// CAMPAIGND_NUMBERS='{conn_1: {rate: 80}}', or one key of one number with
// CAMPAIGND_NUMBERS_CONN_1_RATE=80. A variable that names no key is refused: it may be a misspelled
// limit.
func (c *Config) readEnvironment(environment map[string]string) error {
	known, err := walkEnvironment(reflect.ValueOf(c).Elem(), "CAMPAIGND", "", environment)
	if err != nil {
		return err
	}
	return unknown(known, below(reflect.TypeOf(*c), "CAMPAIGND"), environment)
}

// below returns, by prefix, the keys of the maps whose members are structs: CAMPAIGND_NUMBERS has
// RATE, ACCOUNT and so on, after the id of a member.
func below(t reflect.Type, prefix string) map[string][]string {
	members := map[string][]string{}
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		name := prefix + "_" + strings.ToUpper(key)
		switch {
		case f.Type.Kind() == reflect.Map && f.Type.Elem().Kind() == reflect.Struct:
			for m := range f.Type.Elem().Fields() {
				key, _, _ := strings.Cut(m.Tag.Get("yaml"), ",")
				members[name] = append(members[name], strings.ToUpper(key))
			}
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[messaging.Secret]():
			maps.Copy(members, below(f.Type, name))
		}
	}
	return members
}

// nearestBelow returns the name that was most likely meant by a name that begins with a map and
// ends with none of its keys; "": none is near. An id may contain _, so only the last word is
// compared.
func nearestBelow(name string, members map[string][]string) string {
	for prefix, keys := range members {
		rest, ok := strings.CutPrefix(name, prefix+"_")
		if !ok {
			continue
		}
		if i := strings.LastIndexByte(rest, '_'); i > 0 {
			if near := sentence.Nearest(rest[i+1:], keys); near != "" {
				return prefix + "_" + rest[:i] + "_" + near
			}
		}
	}
	return ""
}

// walkEnvironment sets v from the variables that begin with prefix. known has the names of all
// variables that v can be set from.
func walkEnvironment(v reflect.Value, prefix, secret string, environment map[string]string) (known []string, err error) {
	if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[messaging.Secret]() {
		for f, field := range v.Fields() {
			if !f.IsExported() {
				continue
			}
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
	if text != "" {
		if err := setFromText(v, text); err != nil {
			return nil, fmt.Errorf("%s in the environment: want %s", prefix, wanted(v.Type()))
		}
	}
	if paths, ok := v.Addr().Interface().(*AssumedPaths); ok {
		return append(known, paths.readEnvironment(prefix, environment)...), nil
	}
	if v.Kind() != reflect.Map || v.Type().Elem().Kind() != reflect.Struct {
		return known, nil
	}
	below, err := walkMap(v, prefix, environment)
	return append(known, below...), err
}

// readEnvironment sets the path of each operation from PREFIX_NAME.
func (a *AssumedPaths) readEnvironment(prefix string, environment map[string]string) (known []string) {
	for _, name := range operations.Names() {
		variable := prefix + "_" + strings.ToUpper(name)
		known = append(known, variable)
		if path := environment[variable]; path != "" {
			if *a == nil {
				*a = AssumedPaths{}
			}
			(*a)[name] = path
		}
	}
	return known
}

// walkMap sets the members of a map of structs, such as numbers, from the variables PREFIX_ID_KEY.
// ID is the id in upper case, with _ for every character that the name of a variable cannot have.
// It names the member whose id is written so; if there is none, a new one with the id in lower
// case.
func walkMap(v reflect.Value, prefix string, environment map[string]string) (known []string, err error) {
	members := map[string]string{} // id of the map by ID
	for _, id := range v.MapKeys() {
		upper := variable(id.String())
		if other := members[upper]; other != "" && slices.ContainsFunc(slices.Collect(maps.Keys(environment)), func(name string) bool {
			return strings.HasPrefix(name, prefix+"_"+upper+"_")
		}) {
			return nil, fmt.Errorf("%s_%s_... in the environment may mean %s or %s: set these keys in the file", prefix, upper, other, id)
		}
		members[upper] = id.String()
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		rest, ok := strings.CutPrefix(name, prefix+"_")
		if !ok || environment[name] == "" {
			continue
		}
		for f := range v.Type().Elem().Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if f.Tag.Get("secret") != "" {
				rest = strings.TrimSuffix(rest, "_FILE")
			}
			if upper, ok := strings.CutSuffix(rest, "_"+strings.ToUpper(key)); ok && upper != "" && members[upper] == "" {
				members[upper] = strings.ToLower(upper)
			}
		}
	}
	for _, upper := range slices.Sorted(maps.Keys(members)) {
		member := reflect.New(v.Type().Elem()).Elem()
		id := reflect.ValueOf(members[upper])
		if old := v.MapIndex(id); old.IsValid() {
			member.Set(old)
		}
		below, err := walkEnvironment(member, prefix+"_"+upper, "", environment)
		if err != nil {
			return nil, err
		}
		known = append(known, below...)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(id, member)
	}
	return known, nil
}

// variable writes an id as a part of the name of a variable.
func variable(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(id))
}

// keyOf matches the key with which a fault begins.
var keyOf = regexp.MustCompile(`^[a-z_]+(\.[A-Za-z0-9_-]+)*`)

// variableOf names the variable that set the key of a fault, or the part of the configuration that
// contains the key; "": none did.
func variableOf(fault error, environment map[string]string) string {
	name := "CAMPAIGND_" + variable(keyOf.FindString(fault.Error()))
	for ; name != "CAMPAIGND"; name = name[:strings.LastIndexByte(name, '_')] {
		for _, set := range []string{name, name + "_FILE"} {
			if environment[set] != "" {
				return set + " in the environment"
			}
		}
	}
	return ""
}

// discovery matches the variables that Kubernetes sets in each pod for a Service named campaignd or
// campaignd-something, with their values: CAMPAIGND_SERVICE_HOST=10.0.0.11,
// CAMPAIGND_SERVICE_PORT_ADMIN=9090, CAMPAIGND_PORT=tcp://10.0.0.11:9090,
// CAMPAIGND_PORT_9090_TCP_ADDR=10.0.0.11
// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
var discovery = regexp.MustCompile(
	`_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)=|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=|_PORT=(tcp|udp|sctp)://`)

// testVariables are the variables that the tests' build reads (internal/mutant).
var testVariables = []string{"CAMPAIGND_MUTANT", "CAMPAIGND_CRASH", "CAMPAIGND_STOP", "CAMPAIGND_LONG", "CAMPAIGND_BOOT_ID"}

// remoteVariables name another campaignd for the commands that take --server.
var remoteVariables = []string{"CAMPAIGND_SERVER", "CAMPAIGND_KEY"}

// unknown refuses a variable that names no key, and names the nearest key. Only the variables of
// Kubernetes and of the tests' build are let through.
func unknown(known []string, members map[string][]string, environment map[string]string) error {
	const ours = "CAMPAIGND_"
	keys := make([]string, len(known))
	for i, name := range known {
		keys[i] = strings.TrimPrefix(name, ours)
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		key, ok := strings.CutPrefix(name, ours)
		if !ok || environment[name] == "" || slices.Contains(known, name) || slices.Contains(testVariables, name) ||
			slices.Contains(remoteVariables, name) || discovery.MatchString(name+"="+environment[name]) {
			continue
		}
		if near := nearestBelow(name, members); near != "" {
			return fmt.Errorf("%s in the environment names no key; did you mean %s?", name, near)
		}
		if near := sentence.Nearest(key, keys); near != "" {
			return fmt.Errorf("%s in the environment names no key; did you mean %s%s?", name, ours, near)
		}
		return fmt.Errorf("%s in the environment names no key; `campaignd config show` lists the keys: "+
			"unset it, or give it a name that does not begin with %s", name, ours)
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
	src = yamlfile.Text(src)
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
		if t := strings.TrimSpace(text); strings.HasPrefix(t, "[") && strings.HasSuffix(t, "]") {
			return errors.New("a list in YAML, whose brackets would become part of the secrets")
		}
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
	f := &yamlfile.File{Kind: kindOfFile}
	f.Parse([]byte(text))
	absent := f.Root == nil || f.Root.Type() == ast.NullType
	f.Valueless(func(string, *token.Token) { absent = true })
	if absent || len(f.Faults) > 0 { // such as a number in another base
		return errors.New("no value, or not YAML")
	}
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
	case t == reflect.TypeFor[[]messaging.Secret]():
		return "the secrets alone, separated by line breaks or commas, without [ and ]"
	case t.Kind() == reflect.Slice:
		return "a list such as [a, b]"
	}
	return "keys with values such as {key: value}"
}
