package launch_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/campaign/launch"
)

// numbers reads a list as a campaign file says: the number of each row, or its fault.
func numbers(t *testing.T, audience, list string) (got []string) {
	t.Helper()
	d, err := file.Parse("a.yaml", []byte(minimal+"recipients: "+audience+"\n"))
	if err != nil {
		return []string{err.Error()}
	}
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := launch.OpenList(path, d.ListOptions(path))
	if err != nil {
		return []string{strings.ReplaceAll(err.Error(), path, "list.csv")}
	}
	defer l.Close()
	for {
		row, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return got
		case err != nil:
			return append(got, err.Error())
		case row.Fault != nil:
			got = append(got, string(row.Fault.Kind)+" "+row.Fault.Column+": "+row.Fault.Message)
		default:
			got = append(got, row.To)
		}
	}
}

// readAs compares what numbers returns: a number whole, a fault by a part of it.
func readAs(t *testing.T, audience, list string, want ...string) {
	t.Helper()
	got := numbers(t, audience, list)
	if !slices.EqualFunc(got, want, func(got, want string) bool { return got == want || want[0] != '+' && strings.Contains(got, want) }) {
		t.Errorf("recipients: %s\n%sgot  %q\nwant %q", audience, list, got, want)
	}
}

func TestARowsCountryReadsItsNumber(t *testing.T) {
	const list = "name,phone,land\nIan,07400 123456,GB\nJo,0151 46722372,Germany\nEve,0151 46722372,\nZoe,+33626272404,GB\n" +
		"Max,0626272404,Atlantis\nSam,+12025550123,Atlantis\n"
	const none = `invalid_phone phone: line 4, column "phone": "0151 46722372" has no + and country code`
	const atlantis = `invalid_phone land: line 6, column "land": "Atlantis" is no country with telephone numbers; write a code of ISO 3166`
	readAs(t, "{columns: {to: phone, country: land}, default_region: DE}", list,
		"+447400123456", "+4915146722372", "+4915146722372", "+33626272404", atlantis, "+12025550123")
	readAs(t, "{columns: {to: phone, country: land}}", list, "+447400123456", "+4915146722372", none, "+33626272404", atlantis, "+12025550123")
	// A column that is called so is the country, as one that is called timezone is the zone.
	for _, name := range []string{"country", "Country", "Country Code", "Country/Region"} {
		readAs(t, "{columns: {to: phone}, default_region: DE}", strings.Replace(list, "land", name, 1),
			"+447400123456", "+4915146722372", "+4915146722372", "+33626272404", strings.ReplaceAll(atlantis, "land", name), "+12025550123")
	}
	readAs(t, "{columns: {to: phone, country: nation}}", list,
		`recipients.columns maps "country" to column "nation", which is not in the list`)
	readAs(t, "{columns: {to: phone, country: phone}}", list, `maps "to" and "country" to the same column "phone"`)
	readAs(t, "{columns: {to: phone, country: [land, name]}}", list, "recipients.columns.country: takes one column")
}

// A column of countries that nobody mapped is looked at: Ian in GB would have become somebody else.
func TestACountryThatIsNotReadIsWarnedOf(t *testing.T) {
	const list = "phone,billing_country\n0151 46722372,DE\n0151 46722373,\n07400 123456,United Kingdom\n+447400123456,GB\n" +
		"0151 46722374,Atlantis\n06505550123,US\n"
	warned := func(audience string) (got string) {
		t.Helper()
		src := minimal + "recipients: " + audience + "\n"
		p, err := launch.RunPreflight(t.Context(), launch.PreflightInput{Definition: parse(t, src), File: "c.yaml", Source: []byte(src),
			List: writeFile(t, "list.csv", list)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range p.Findings {
			_, line, _ := strings.Cut(f.Where, "list.csv")
			got += line + ": " + f.What + "; " + f.Remedy
		}
		return got
	}
	const want = ":4: 2 numbers without + were read as dialled in DE (recipients.default_region), although column \"billing_country\" names " +
		"another country, such as \"United Kingdom\"; set recipients.columns: {country: billing_country}"
	if got := warned("{default_region: DE}"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, quiet := range []string{"{default_region: DE, columns: {country: billing_country}}", "{}"} {
		if got := warned(quiet); got != "" {
			t.Errorf("%s: got %q, want no warning", quiet, got)
		}
	}
}

func TestTheFirstFilledColumnIsTheNumber(t *testing.T) {
	const list = "Mobile Phone,Phone,Home,name\n+447400123456,+447400123457,,Ada\n ,+447400123458,+447400123459,Ben\n" +
		",,+447400123450,Cy\n,\u00a0,,Di\nnone,+447400123451,,Ed\n,12,,Fay\n"
	readAs(t, "{columns: {to: [Mobile Phone, Phone, Home]}}", list, "+447400123456", "+447400123458", "+447400123450",
		`missing_phone Mobile Phone: line 5, column "Mobile Phone": the cell is empty`,
		`invalid_phone Mobile Phone: line 6, column "Mobile Phone": "none" holds a letter`,
		`invalid_phone Phone: line 7, column "Phone": "12" has no +`)
	readAs(t, "{columns: {to: [Home]}}", "Home\n+447400123456\n", "+447400123456")
	readAs(t, "{columns: {to: [Home, Phone]}}", "Home\n+447400123456\n", `maps "to" to column "Phone", which is not in the list`)
	readAs(t, "{columns: {to: [Home, Home]}}", "Home\n+447400123456\n", `maps "to" to the column "Home" twice; name it once`)
	readAs(t, "{columns: {to: [Home, Zone], timezone: Zone}}", "Home,Zone\n+447400123456,\n", `maps "timezone" and "to" to the same column`)
	readAs(t, "{columns: {to: []}}", "Home\n+447400123456\n", "recipients.columns.to: no column is named")
	readAs(t, "{columns: {to: [Home, '']}}", "Home\n+447400123456\n", "recipients.columns.to: no column is named")
	readAs(t, "{columns: {to: [1, 2]}}", "Home\n+447400123456\n", "recipients.columns.to[0]: want text, not a number")
	readAs(t, "{columns: {to: {a: b}}}", "Home\n+447400123456\n", "recipients.columns.to: want text, not keys with values")
	readAs(t, "{columns: {name: [a, b]}}", "Home\n+447400123456\n", "recipients.columns.name: takes one column")
	// A malformed row shows the number that it would have had.
	readAs(t, "{columns: {to: [a, b]}}", "a,b,c\n,+447400123456\n", "malformed_row : line 2: 2 cells where the header has 3")
	d := parse(t, "name: a\nconnections: [c]\ntemplate: {name: t, language: en, otp: '{{ .to }}'}\nrecipients: {columns: {to: [a, b]}}\n")
	if _, err := d.Compile([]string{"a", "b"}); err == nil || !strings.Contains(err.Error(), `maps "to" to several columns; use the name`) {
		t.Errorf("a variable of several columns: got %v, want the remedy", err)
	}
}

func TestEmptyCellsBeyondTheHeaderArePadding(t *testing.T) {
	readAs(t, "{}", "to,name\n+447400123456,Ada,,\n+447400123457,Ben, ,\u00a0\r\n\"+447400123459\",\"Di\",\"\",\"\"\n",
		"+447400123456", "+447400123457", "+447400123459")
	// In one row alone they may come from a cell that holds the delimiter.
	readAs(t, "{}", "to,name\n+447400123456,Ada\n+447400123457,Ben,\n+447400123458,Cy\n", "+447400123456",
		"malformed_row : line 3: 3 cells where the header has 2", "+447400123458")
	readAs(t, "{}", "to,name\n+447400123456,Ada,,x\n,Ben,,\n", "malformed_row : line 2: 4 cells where the header has 2",
		`missing_phone to: line 3, column "to": the cell is empty`)
	readAs(t, "{}", "to;name\n+447400123456;Ada;\n=\"+447400123457\";Ben;\n", "+447400123456", "+447400123457")
	readAs(t, "{}", "to,name,zip\n+447400123456,Ada\n", "malformed_row : line 2: 2 cells where the header has 3")
}

func TestInternationalNumbersNeedNoPlusWhenAsked(t *testing.T) {
	const list = "to\n447400123456\n00447400123456\n+447400123456\n44 7400 123456\n2025550123\n07400123456\n44740012\n4474001234561234\n"
	readAs(t, "{international: true}", list, "+447400123456", "+447400123456", "+447400123456", "+447400123456",
		`"2025550123" is not a number with its country code`,
		`"07400123456" is no international number; write + and the country code`,
		`"44740012" is not a number with its country code`, `"4474001234561234" is no international number`)
	readAs(t, "{international: true, validate: none}", "to\n447400123456\n44740012\n", "+447400123456",
		`is not a number with its country code`)
	readAs(t, "{international: false}", list, `"447400123456" has no +`, "begins with 00", "+447400123456",
		"has no +", "has no +", "has no +", "has no +", "has no +")
	const both = "recipients.international: numbers without + cannot begin with their country code and be national too; " +
		"remove it, or default_region and columns.country"
	readAs(t, "{international: true, default_region: GB}", list, both)
	readAs(t, "{international: true, columns: {country: c}}", list, both)
	// A row that names its country has a national number, or one with its code.
	readAs(t, "{international: true}", "to,country\n07400123456,GB\n447400123456,GB\n447400123456,\n", "+447400123456", "+447400123456",
		"+447400123456")
}
