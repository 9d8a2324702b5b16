package records_test

import (
	"fmt"
	"net/url"

	"campaignd/internal/sandbox/shop/records"
)

type boot struct{ id, color string }

func (b *boot) Key() string { return b.id }

// A list filters, sorts and shows the records of a table.
func Example() {
	var room records.Room
	var boots records.Table[*boot]
	for _, b := range []*boot{{"1", "red"}, {"2", "green"}, {"3", "red"}} {
		_ = boots.Add(&room, b)
	}
	list := records.List[*boot]{
		Filters: map[string]records.Filter[*boot]{"color": records.Equal(func(b *boot) string { return b.color })},
		Sorts:   map[string]func(a, b *boot) int{"id": records.ByFold((*boot).Key)},
		View:    func(b *boot, _ records.Includes) any { return b.id },
	}
	page, err := list.Page(records.Request{Query: url.Values{"filter[color]": {"red"}, "sort": {"-id"}}}, &boots)
	fmt.Println(page.Data, page.Meta.Total, err)
	_, err = list.Page(records.Request{Query: url.Values{"sort": {"size"}}}, &boots)
	fmt.Println(err)
	// Output:
	// [3 1] 2 <nil>
	// Unknown sort size; known: id
}
