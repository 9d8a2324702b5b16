package recipients

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAHeadShowsAListBeforeItsColumnsAreKnown(t *testing.T) {
	row := func(line int, cells ...string) HeadRow { return HeadRow{line, cells} }
	for name, c := range map[string]struct {
		list string
		o    Options
		want Head
	}{
		"a known name": {"to,name\n+2348031234560,Ada\n+2348031234561,Nia\n+2348031234562,Obi\n", Options{},
			Head{Header: []string{"to", "name"}, To: "to", Rows: []HeadRow{row(2, "+2348031234560", "Ada"), row(3, "+2348031234561", "Nia")}}},
		"an export, semicolons": {"\ufeffVorname;Handy\nAda;0803\n", Options{}, Head{Dialect: Dialect{Delimiter: ';', BOM: true},
			Header: []string{"Vorname", "Handy"}, To: "Handy", Rows: []HeadRow{row(2, "Ada", "0803")}}},
		"several phones": {"Phone,Mobile Phone Number\n1,2\n", Options{},
			Head{Header: []string{"Phone", "Mobile Phone Number"}, To: "Phone", Rows: []HeadRow{row(2, "1", "2")}}},
		"two of a known name": {"phone,mobile\n1,2\n", Options{},
			Head{Header: []string{"phone", "mobile"}, To: "mobile", Rows: []HeadRow{row(2, "1", "2")}}},
		"titles above": {"Customers of March,\n,\nto,name\n+2348031234560,Ada\n", Options{},
			Head{Skip: 2, Header: []string{"to", "name"}, To: "to", Rows: []HeadRow{row(4, "+2348031234560", "Ada")}}},
		"no phone": {"a,b\n1,2\n", Options{}, Head{Header: []string{"a", "b"}, Rows: []HeadRow{row(2, "1", "2")}}},
		"no phone, first name twice": {"a,a,b\n1,2,3\n", Options{},
			Head{Header: []string{"a", "a", "b"}, Rows: []HeadRow{row(2, "1", "2", "3")}}},
		"a variable is missing": {"a,b\n1,2\n", Options{Columns: map[string]Names{"to": {"b"}, "first_name": {"c"}}},
			Head{Header: []string{"a", "b"}, To: "b", Rows: []HeadRow{row(2, "1", "2")}}},
		"a faulty row": {"to,name\nx\n", Options{}, Head{Header: []string{"to", "name"}, To: "to", Rows: []HeadRow{row(2, "x", "")}}},
	} {
		if c.want.Dialect.Delimiter == 0 {
			c.want.Dialect.Delimiter = ','
		}
		c.want.Dialect.Encoding = UTF8
		got, err := ReadHead(strings.NewReader(c.list), "the list", c.o, 2)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// A first row that would be taken for names of columns would be a recipient who gets nothing.
func TestAListWithoutAHeaderHasNoHead(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"a row": {"+2348031234560,Nia\n+2348031234561,Ada\n", "the list has no header"}, "nothing": {"", "the list is empty"},
		"a header alone": {"to,name\n", "the list has a header and no rows"}, "bytes": {"to\n\x00\x00,\x00", ""},
	} {
		got, err := ReadHead(strings.NewReader(c.list), "the list", Options{}, 20)
		var fault *FileError
		if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %+v and %v, want a fault of the list with %q", name, got, err, c.want)
		}
	}
}
