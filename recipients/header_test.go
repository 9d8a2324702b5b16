package recipients

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Without recipients.columns, the phone and the time zone are found by the names of their columns.
func TestThePhoneColumnIsFoundByItsName(t *testing.T) {
	for _, name := range []string{"to", "To", "TO", "phone", "Phone", "mobile", "MSISDN", "phone_number", "Phone Number", "phone-no",
		"Phone.No", "mobile number", "Mobile Phone", "mobile_no",
		"cell", "Cell Phone", "cell number", "telephone", "telephone number", "Tel", "Tel.", "WhatsApp", "whatsapp_number", "recipient",
		"recipient phone", "\u00a0Phone\u00a0Number", "\u200bphone"} {
		rows, r, err := all(strings.NewReader("x,"+name+",y\n1,+12025550123,2\n"), Options{Delimiter: ","})
		if err != nil || len(rows) != 1 || rows[0].To != "+12025550123" || r.Column("to") != 1 || r.Column("timezone") != -1 {
			t.Errorf("%q: %d rows, %v, want the second column to be the phone", name, len(rows), err)
		}
	}
	for _, c := range []struct {
		header       string
		columns      map[string]Names
		to, timezone int
	}{
		{"phone,to,mobile", nil, 1, -1},
		{"a,to,timezone", nil, 1, 2}, {"a,to,TZ", nil, 1, 2}, {"a,to,Time Zone", nil, 1, 2}, {"to,tz,timezone", nil, 0, 2},
		{"to,tz,Time Zone", nil, 0, -1}, // either may be meant
		{"tz,to", map[string]Names{"to": {"tz"}}, 0, -1},
		{"to,a,tz", map[string]Names{"timezone": {"a"}}, 0, 1},
		{"to,a", map[string]Names{"to": {" a "}}, 1, -1},
	} {
		_, r, err := all(strings.NewReader(c.header+"\n"+strings.Repeat(",", strings.Count(c.header, ","))+"\n"),
			Options{Delimiter: ",", Columns: c.columns})
		if err != nil {
			t.Errorf("header %s: %v, want no error", c.header, err)
			continue
		}
		if got := [2]int{r.Column("to"), r.Column("timezone")}; got != [2]int{c.to, c.timezone} {
			t.Errorf("%s, mapped %v: phone and zone are columns %v, want %d and %d", c.header, c.columns, got, c.to, c.timezone)
		}
	}
}

func TestHeaderFaultsNameColumnAndRemedy(t *testing.T) {
	names := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("c%d", i+1))
		}
		return strings.Join(all, ",")
	}
	quoted := func(n int) string { return `"` + strings.ReplaceAll(names(n), ",", `", "`) + `"` }
	const none = "no column holds the phone number under a known name; the columns are "
	for name, c := range map[string]struct {
		header  string
		columns map[string]Names
		want    string
	}{
		"twelve columns":   {names(12), nil, none + quoted(12) + "; map it with recipients.columns: {to: COLUMN}"},
		"thirteen columns": {names(13), nil, none + quoted(13) + "; map it with recipients.columns: {to: COLUMN}"},
		"two may be meant": {"mobile,x,phone", nil,
			`columns "mobile", "phone" may all be the phone number; say which, or have the first that is filled read, ` +
				"with recipients.columns: {to: [mobile, phone]}"},
		"twice": {"to,a,b,a", map[string]Names{"x": {"a"}},
			`columns 2 and 4 are both called "a"; rename one of them in the first line`},
		"twice but for blanks": {"to,a, a\ufeff", map[string]Names{"x": {"a"}},
			`columns 2 and 3 are both called "a"; rename one of them in the first line`},
		"a control character": {"to,a\x01b", nil, `the name of column 2 holds a control character: "a\x01b"; rename it in the first line`},
		"no UTF-8": {"to,\xff\u00fc\u00fc", nil,
			`the name of column 2 is not UTF-8: "\xffüü"; set recipients.encoding, for example windows-1252`},
		"the first Macs": {"to,a\r+1,b", nil,
			"the lines end with a carriage return alone, as on the first Macs; save the list with LF or CRLF line ends"},
		"a number for a name": {"+1234567,x", nil,
			"the first line holds a phone number, so the list has no header; " +
				"give it a first line with a name for each column, such as to,first_name"},
		"nine for a name": {"(999) 999-9,x", nil,
			"the first line holds a phone number, so the list has no header; " +
				"give it a first line with a name for each column, such as to,first_name"},
		"six digits":          {"123456,x", nil, none + `"123456", "x"; map it with recipients.columns: {to: COLUMN}`},
		"digits and a letter": {"1234567a,x", nil, none + `"1234567a", "x"; map it with recipients.columns: {to: COLUMN}`},
		"the first of two mappings": {"to,x", map[string]Names{"b": {"nob"}, "a": {"noa"}},
			`recipients.columns maps "a" to column "noa", which is not in the list; its columns are "to", "x"; map it to one of them`},
		"one column for two": {"to,x", map[string]Names{"to": {"x"}, "timezone": {"x"}},
			`recipients.columns maps "to" and "timezone" to the same column "x"; map them to two columns`},
		"names with tabs and breaks": {"to,\"a\tb\",\"c\nd\",\"c\nd\"", map[string]Names{"x": {"c\nd"}},
			`columns 3 and 4 are both called "c\nd"; rename one of them in the first line`},
	} {
		for range 3 { // maps have no order, but the error must be the same every time
			_, err := NewReader(strings.NewReader(c.header+"\n+1,2\n"), "list.csv", Options{Delimiter: ",", Columns: c.columns})
			want := "list.csv:1: " + c.want
			if err == nil || err.Error() != want {
				t.Errorf("%s\ngot  %v\nwant %s", name, err, want)
				break
			}
		}
	}
}

func TestAMalformedRowShowsItsPhoneAndZone(t *testing.T) {
	const header = "tz,to,x\n"
	for row, want := range map[string]Row{
		"Africa/Lagos,+1,\"a\"b\n": {To: "+1", Timezone: "Africa/Lagos", Cells: []string{"Africa/Lagos", "+1", "a\"b"}},
		"Africa/Lagos,+1\n":        {To: "+1", Timezone: "Africa/Lagos", Cells: []string{"Africa/Lagos", "+1", ""}},
		"Africa/Lagos\n":           {Timezone: "Africa/Lagos", Cells: []string{"Africa/Lagos", "", ""}},
		"\xff,+1\xff,a\n":          {To: "+1\ufffd", Timezone: "\ufffd", Cells: []string{"\ufffd", "+1\ufffd", "a"}},
		"\xff,+1\xff,a,b\n":        {To: "+1\ufffd", Timezone: "\ufffd", Cells: []string{"\ufffd", "+1\ufffd", "a"}},
	} {
		rows, _, err := all(strings.NewReader(header+row), Options{Encoding: UTF8, Delimiter: ","})
		if err != nil || len(rows) != 1 || rows[0].Fault == nil {
			t.Errorf("%q: %d rows, %v, want one that is faulted", row, len(rows), err)
			continue
		}
		got := *rows[0]
		want.Number, want.Line, want.Fault = 1, 2, got.Fault
		if diff := cmp.Diff(want, got); diff != "" || got.Fault.Kind != MalformedRow {
			t.Errorf("%q: %s, -want +got:\n%s", row, got.Fault.Kind, diff)
		}
	}
}
