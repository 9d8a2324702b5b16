package file

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"campaignd/campaign"
	"campaignd/internal/yamlfile"
	"campaignd/recipients"
)

// special judges the values whose form the kinds of Go do not describe.
func (s *Source) special(n ast.Node, path string, t reflect.Type) (want string, special bool) {
	switch t {
	case reflect.TypeFor[campaign.Duration]():
		text, isText := n.(*ast.StringNode)
		if !isText {
			want = "a duration such as 15m, 24h or 7d"
		} else if d, err := campaign.ParseDuration(text.Value); err != nil {
			s.Add(n.GetToken(), yamlfile.Field(path)+err.Error(), "")
		} else if d == 0 { // 0 would count as absent
			s.Add(n.GetToken(), yamlfile.Field(path)+"0 could mean at once or without limit", "remove it for the default")
		}
	case reflect.TypeFor[campaign.Approval]():
		if number, isNumber := n.(*ast.IntegerNode); isNumber {
			if err := new(campaign.Approval).UnmarshalYAML([]byte(number.GetToken().Value)); err != nil {
				s.Add(n.GetToken(), fmt.Sprintf("%s%s: %s", yamlfile.Field(path), number.GetToken().Value, err), "")
			}
		} else if n.Type() != ast.BoolType {
			want = "true, false, or a number of recipients"
		}
	case reflect.TypeFor[recipients.Names](): // a text, or a list of texts
		list, isList := n.(*ast.SequenceNode)
		if !isList {
			s.Check(n, path, reflect.TypeFor[string](), yamlfile.Shape{})
			break
		}
		for i, v := range list.Values {
			s.Check(v, path+"["+strconv.Itoa(i)+"]", reflect.TypeFor[string](), yamlfile.Shape{})
		}
	default:
		return "", false
	}
	return want, true
}

// other says what becomes of a key that a campaign file does not have: a sidecar may have againKey,
// and the campaign of a run the keys of another version that decide nothing.
func (s *Source) other(path string) (t reflect.Type, ignored bool) {
	if s.sidecar && path == againKey {
		return reflect.TypeFor[bool](), false
	}
	return nil, s.stored && !decides(path)
}

// decides reports whether a key at path changes what a run sends, to whom, when, or how much of it.
// A schedule has fired, so the rest may be of another version of this program.
func decides(path string) bool {
	part, _, nested := strings.Cut(path, ".")
	return nested && slices.Contains([]string{"template", "recipients", "variables", "window", "limits"}, part)
}
