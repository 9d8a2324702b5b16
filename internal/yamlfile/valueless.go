package yamlfile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Valueless calls found for each key and each entry of a list that has no value: nothing, ~ or
// null. at is the token of the key or of the entry.
func (f *File) Valueless(found func(path string, at *token.Token)) {
	if f.Root != nil {
		valueless(f.Root, "", found)
	}
}

func valueless(n ast.Node, path string, found func(string, *token.Token)) {
	below := func(value ast.Node, at string, t *token.Token) {
		if value.Type() == ast.NullType {
			found(at, t)
			return
		}
		valueless(value, at, found)
	}
	if list, isList := n.(*ast.SequenceNode); isList {
		for i, value := range list.Values {
			below(value, path+"["+strconv.Itoa(i)+"]", First(value))
		}
		return
	}
	pairs, _ := Mapping(n)
	for _, pair := range pairs {
		key := pair.Key.GetToken()
		below(pair.Value, strings.TrimPrefix(path+"."+key.Value, "."), key)
	}
}

// NoValue is what RefuseValueless says of a key after its path.
const NoValue = "has no value"

// RefuseValueless adds a fault for each key and each entry of a list that has no value, except at
// and below the given keys of the file. It would count as absent, although the lines below it may
// have been taken out by mistake, or the program that wrote the file had nothing to write.
func (f *File) RefuseValueless(except ...string) {
	f.Valueless(func(path string, at *token.Token) {
		if first, _, _ := strings.Cut(path, "."); slices.Contains(except, first) {
			return
		}
		told := func(other Fault) bool {
			return at.Position != nil && other.Line == at.Position.Line && other.Column == at.Position.Column
		}
		if slices.ContainsFunc(f.Faults, told) { // such as an unknown key
			return
		}
		remedy := "give one, or remove the key"
		if strings.HasSuffix(path, "]") {
			remedy = `give one, in quotes if it is "NULL" or begins with #, or remove the entry`
		}
		f.Add(at, Field(path)+NoValue, remedy)
	})
}
