package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"campaignd/campaign/file"
	"campaignd/internal/operations"
	"campaignd/internal/sentence"
	"campaignd/internal/yamlfile"
)

// kindOfFile is the configuration file, in the words of its faults.
var kindOfFile = yamlfile.Kind{Noun: "configuration file", Holds: "configuration", TooDeep: schemaRemedy,
	TooBig: "give the YAML file with --config"}

// readYAML copies the file to c. It refuses unknown keys, wrong types and second documents with
// line and column. A panic of the parser becomes an error (docs/protocol.md#untrusted-input).
func (c *Config) readYAML(path string, src []byte) (err error) {
	src = yamlfile.Text(src)
	f := &yamlfile.File{Name: path, Kind: kindOfFile}
	f.Parse(src)
	fault := func(t *token.Token, what, remedy string) error {
		f.Faults = nil
		f.Add(t, what, remedy)
		return withoutSecrets(f, src)
	}
	switch {
	case len(f.Faults) > 0:
		return withoutSecrets(f, src)
	case f.Root == nil:
		return nil // a file without a value; the decoder would set c to its zero value
	}
	defer func() {
		if p := recover(); p != nil {
			err = fault(nil, fmt.Sprintf("the YAML parser failed on this file: %v", p), "remove half of it to find the faulty line")
		}
	}()
	tokens := f.Tokens
	if err := yaml.UnmarshalWithOptions(src, c, yaml.Strict()); err != nil {
		var at yaml.Error
		if !errors.As(err, &at) {
			if slices.ContainsFunc(tokens, func(t *token.Token) bool {
				return t.Position != nil && len(t.Value) > 2 && strings.Contains(err.Error(), t.Value) && secretLine(src, t.Position.Line)
			}) {
				return fault(nil, "the value of a key that holds a secret is not of its form", schemaRemedy)
			}
			// An error of a type's own UnmarshalText has no line. Its message begins with the value.
			for _, t := range tokens {
				if strings.HasPrefix(err.Error(), strconv.Quote(t.Value)+" ") {
					return fault(t, err.Error(), "")
				}
			}
			return fault(nil, err.Error(), "")
		}
		what, remedy := plainFault(at, src)
		return fault(at.GetToken(), what, remedy)
	}
	if t := c.unknownOperation(tokens); t != nil {
		what, remedy := unknownKey(t, src)
		return fault(t, what, remedy)
	}
	if f.RefuseValueless(sendsNothing...); len(f.Faults) > 0 {
		return withoutSecrets(f, src)
	}
	return nil
}

// sendsNothing are the parts of the configuration that change nothing of what is sent. Their keys
// without a value have the default.
var sendsNothing = []string{"listen", "console", "ledger", "data_dir", "retention", "campaigns", "notifications", "log"}

// unknownOperation returns the key of service.assumed.paths that names no operation, or nil. The
// decoder takes any key of a map.
func (c *Config) unknownOperation(tokens token.Tokens) *token.Token {
	paths := slices.IndexFunc(tokens, func(t *token.Token) bool {
		return t.Value == "paths" && t.Next != nil && t.Next.Type == token.MappingValueType
	})
	for _, t := range tokens[max(0, paths):] {
		_, configured := c.Service.Assumed.Paths[t.Value]
		_, known := operations.Named(t.Value)
		if configured && !known && t.Next != nil && t.Next.Type == token.MappingValueType {
			return t
		}
	}
	return nil
}

// withoutSecrets is the first fault of a file. A fault in the line of a secret names keys and types
// only.
func withoutSecrets(f *yamlfile.File, src []byte) error {
	f.Faults = f.Sorted()[:1]
	if one := &f.Faults[0]; secretLine(src, one.Line) {
		one.Excerpt = ""
		one.What, one.Remedy = withoutValue(one.What, one.Remedy)
	}
	return file.FaultsOf(f)
}

// secretKey matches a key whose value may be a secret, also a misspelled one, and the indentation
// of its line.
var secretKey = regexp.MustCompile(`(?i)^(\s*).*?(?:[\w-]*(?:key|secret|passw|token|auth|ledger|redis)[\w-]*|\burl)["']?\s*:`)

// plainKey matches a line that begins with a key.
var plainKey = regexp.MustCompile(`^(\s*)["']?[\w-]+["']?\s*:`)

// secretLine reports whether a line, counted from 1, may have a part of a secret: it has such a
// key, or belongs to the value of one above it.
func secretLine(src []byte, line int) bool {
	secret, indent := false, 0
	for i, text := range bytes.Split(src, []byte("\n")) {
		if m := secretKey.FindSubmatch(text); m != nil {
			secret, indent = true, len(m[1])
		} else if m := plainKey.FindSubmatch(text); m != nil && len(m[1]) <= indent {
			secret = false
		}
		if i+1 == line {
			return secret
		}
	}
	return false
}

// inAnotherBase is the fault of a number such as 0777 without its value.
const inAnotherBase = "YAML takes a number with a leading 0 for one in another base"

// withoutValue keeps of a fault in the line of a secret what names keys or types only.
func withoutValue(what, remedy string) (string, string) {
	if strings.HasPrefix(what, "YAML reads ") {
		return inAnotherBase, remedy
	}
	if strings.HasPrefix(what, "the key ") { // a secret may have been written as a key
		return "a key stands twice", remedy
	}
	if strings.HasSuffix(what, yamlfile.NoValue) {
		return "a key " + yamlfile.NoValue, remedy
	}
	for _, begins := range []string{"unknown key ", "want ", "anchors and aliases", "tags and directives", "a second document", "nested more",
		"a tab stands", "the [ ", "the { ", "the quote ", "a comma or ", "another key begins", "a value stands", "text stands"} {
		if strings.HasPrefix(what, begins) {
			if strings.HasPrefix(remedy, "write [") {
				remedy = "write [VALUE]"
			}
			return what, remedy
		}
	}
	return "the value of a key that holds a secret is not of its form", schemaRemedy
}

// schemaRemedy is the remedy of a fault of form.
const schemaRemedy = "see `campaignd config schema`"

// goType matches the errors that name a Go type.
var goType = regexp.MustCompile(`cannot unmarshal (\S+) into Go (?:struct field|value) \S*(?: of type \S+)?`)

// plainFault rewrites an error of the YAML library without the names of Go types.
func plainFault(at yaml.Error, src []byte) (what, remedy string) {
	what = at.GetMessage()
	switch {
	case strings.HasPrefix(what, "unknown field"):
		return unknownKey(at.GetToken(), src)
	case goType.MatchString(what):
		var typed *yaml.TypeError
		if errors.As(at, &typed) && typed.DstType != nil {
			return fmt.Sprintf("want %s here", wanted(typed.DstType)), schemaRemedy
		}
	case strings.HasPrefix(what, "cannot unmarshal []"):
		return "want a single value here, not a list", schemaRemedy
	case strings.Contains(what, "found character '\t'"):
		return "a tab stands where YAML wants spaces", "indent with spaces"
	case strings.HasSuffix(what, "used where sequence is expected"):
		if t := at.GetToken(); t.Type == token.MappingStartType || t.Type == token.MappingValueType {
			return "want a list here, not keys with values", "write - before the first key of each entry"
		}
		return "want a list here", "write [" + at.GetToken().Value + "]"
	case strings.HasSuffix(what, "used where mapping is expected"):
		return "want keys with values here", schemaRemedy
	}
	return what, ""
}

// unknownKey names the unknown key at token t with its path, and the known key that is nearest in
// spelling.
func unknownKey(t *token.Token, src []byte) (what, remedy string) {
	path, known := t.Value, []string(nil)
	if file, err := parser.ParseBytes(src, 0); err == nil && len(file.Docs) > 0 {
		if at, keys := siblings(file.Docs[0].Body, reflect.TypeFor[Config](), "", t); at != "" {
			path, known = at, keys
		}
	}
	if path == "cloud.prices" { // it was the key of an earlier version
		return fmt.Sprintf("unknown key %q", path), "write it as prices at the top level: it is for every connection"
	}
	if known == nil {
		return fmt.Sprintf("unknown key %q", path), "see `campaignd config schema` for the keys"
	}
	if near := sentence.Nearest(t.Value, known); near == "" && len(known) > 30 {
		return fmt.Sprintf("unknown key %q", path), schemaRemedy
	}
	if slices.Contains(known, t.Value+"_file") { // a secret is not written here
		return fmt.Sprintf("unknown key %q", path), fmt.Sprintf("write the value into a file, and give the path of that file in %s_file", t.Value)
	}
	return fmt.Sprintf("unknown key %q", path), sentence.DidYouMean(t.Value, known)
}

// siblings searches n for the key at the position of want. n has the path path and is decoded into
// a value of type t. It returns the path of the key and the keys that are known at its level; at is
// "" when the key is not below n.
func siblings(n ast.Node, t reflect.Type, path string, want *token.Token) (at string, known []string) {
	if n, isList := n.(*ast.SequenceNode); isList {
		for i := 0; t.Kind() == reflect.Slice && i < len(n.Values) && at == ""; i++ {
			at, known = siblings(n.Values[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i), want)
		}
		return at, known
	}
	pairs, _ := yamlfile.Mapping(n)
	members := map[string]reflect.Type{}
	if t.Kind() == reflect.Struct {
		for f := range t.Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if key == "" { // no key of the file
				continue
			}
			known = append(known, key)
			members[key] = f.Type
		}
	}
	if t == reflect.TypeFor[AssumedPaths]() {
		known = operations.Names()
	}
	for _, pair := range pairs {
		key := pair.Key.GetToken()
		below := strings.TrimPrefix(path+"."+key.Value, ".")
		here := key.Position.Line == want.Position.Line && key.Position.Column == want.Position.Column
		if here && (t.Kind() == reflect.Struct || known != nil) {
			return below, known
		}
		member := members[key.Value]
		if t.Kind() == reflect.Map {
			member = t.Elem()
		}
		if member == nil {
			continue
		}
		if at, keys := siblings(pair.Value, member, below, want); at != "" {
			return at, keys
		}
	}
	return "", nil
}
