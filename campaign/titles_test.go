package campaign_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"campaignd/campaign"
)

func TestTheLineThatLooksLikeTheHeaderIsNamed(t *testing.T) {
	const below = "line 4 looks like the header: set recipients.skip: 3"
	for audience, list := range map[string]string{
		"{}":                            "Customers\n\nas of 2026-11-25;\nname;phone\nAda;+447400123456\n",
		"{columns: {to: Rufnr}}":        "Customers 12345678\n,\n,\nname,Rufnr\nAda,+447400123456\n",
		"{columns: {name: Name}}":       "\"Customers\"\nof \"Acme\" Ltd\n\nName\tMobile Phone\nAda\t+447400123456\n",
		"{columns: {to: [Fax, Rufnr]}}": "a,b\nc,d\ne,f\nname,Rufnr\nAda,+447400123456\n",
		"{skip: 1}":                     "sep=;\nCustomers;\n\"of; all\"\nname;phone\nAda;+447400123456\n",
		"{delimiter: comma, skip: 2}":   "Customers;\nphone;name;x\nof,all\nname,phone\nAda,+447400123456\n",
		"{columns: {to: ' phone '}}":    "Customers\r\n\r\nall\r\n\u200bname,phone\r\nAda,+447400123456\r\n",
		"{encoding: utf-8, skip: 0}":    "\ufeffCustomers\nx\ny\nname;billing_phone;z\nAda;+447400123456;\n",
	} {
		got := numbers(t, audience, list)
		if len(got) != 1 || !strings.HasSuffix(got[0], below) || !strings.HasPrefix(got[0], "list.csv:") {
			t.Errorf("%s\n%q\ngot  %q\nwant an error that ends in %s", audience, list, got, below)
		}
		if !strings.Contains(audience, "Fax") && !strings.Contains(list, "billing") {
			skipped := strings.Replace(strings.Replace(strings.Replace(audience, "skip: 1", "", 1), ", skip: 2", "", 1), "}", "}", 1)
			skipped = strings.Replace("{skip: 3, "+skipped[1:], ", }", "}", 1)
			readAs(t, skipped, list, "+447400123456")
		}
	}
	for audience, list := range map[string]string{ // no other line is the header
		"{columns: {to: Rufnr}}": "name,phone\nAda,+447400123456\n", "{columns: {to: fone}}": "phone,name\n+447400123456,Ada\nphone,x\n",
		"{}": "a,b\nc,d\n", "{skip: 9}": "phone\n+447400123456\n",
	} {
		if got := numbers(t, audience, list); len(got) != 1 || strings.Contains(got[0], "looks like") {
			t.Errorf("%s\n%s\ngot %q, want an error that names no other line", audience, list, got)
		}
	}
}

func TestTitlesAndTotalsAreSkippedWhenAsked(t *testing.T) {
	const list = "Report\nof November\nphone,name,n\nTelefon,Name,Zahl\n+447400123456,Ada,1\n,Ben,2\n\"Total\",,3\n"
	readAs(t, "{skip: 2, skip_below: 1, skip_last: 1}", list, "+447400123456", "missing_phone phone: line 6")
	readAs(t, "{skip: 3, columns: {to: Telefon}, skip_last: 2}", list, "+447400123456")
	// Without them, the message names what to set.
	readAs(t, "{skip: 2}", list, `malformed_row : line 4: this looks like a second header; leave it out with recipients.skip_below: 1, `+
		`or read it as the header with recipients.skip: 3`, "+447400123456", "missing_phone phone: line 6",
		"malformed_row : line 7: this looks like a row of totals; leave it out with recipients.skip_last: 1")
	for _, last := range []string{"Total", "Grand Total,,9", ",Summe:,9", "Gesamt,9", "Subtotal,x,y,z,a"} { // also with other cells than the header
		readAs(t, "{}", "phone,name,n\n+447400123456,Ada,1\n"+last+"\n", "+447400123456", "line 3: this looks like a row of totals")
	}
	readAs(t, "{}", "phone,name\nno phone,Total\n+447400123456,Total\n", "holds a letter", "+447400123456") // a person
	readAs(t, "{skip_last: 2}", "to\n+447400123456\n+447400123457\n", "list.csv:1: the list has a header and no rows")
	readAs(t, "{skip_last: 1, skip_below: 1}", "to\n+447400123456\n+447400123457\n", "list.csv:1: the list has a header and no rows")
	readAs(t, "{skip_below: 3}", "to\n+447400123456\n+447400123457\n", "list.csv:1: the list has a header and no rows")
	readAs(t, "{skip_last: 2}", "to\n+447400123456\n+447400123457\n\n+447400123458\n", "+447400123456")
	readAs(t, "{skip: 2}", "sep=;\nReport\nto;n\n+447400123456;1\n", "+447400123456") // Excel's line is the first of the two
	readAs(t, "{skip: 1}", "sep=;\nto;n\n+447400123456;1\n", "+447400123456")
	readAs(t, "{skip: 4}", "to\n+447400123456", "recipients.skip leaves out 4 lines, and the list has no more")
	readAs(t, "{skip: -1}", "to\n", "recipients.skip: -1; want 0 to 100")
	readAs(t, "{skip_last: 101}", "to\n", "recipients.skip_last: 101; want 0 to 100")
	readAs(t, "{skip: 1}", strings.Repeat("x", 2<<20)+"\nto\n+447400123456\n", "list.csv:1: the line is longer than 1024 KiB")
	// A list that breaks off ends in its error, however many rows are left out.
	readAs(t, "{skip_last: 1}", "to,n\n+447400123456,1\n+447400123457,2\n+447400123458,\"3\n", "+447400123456", "the quote opened here is never closed")
}

func TestAMessageKnowsThePhoneColumnsOfExports(t *testing.T) {
	for header, want := range map[string]string{
		"id,billing_phone,billing_country":                         "{to: billing_phone, country: billing_country}",
		"Kunde,Telefon,Handy,Land":                                 "{to: [Handy, Telefon], country: Land}",
		"Nom,Téléphone portable,Pays":                              "{to: Téléphone portable, country: Pays}",
		"Nombre,Teléfono,Móvil,País":                               "{to: [Móvil, Teléfono], country: País}",
		"First Name,Phone 1 - Label,Phone 1 - Value,Fax":           "{to: Phone 1 - Value}",
		"Name,Mobile Phone Type,billingPhone,Country":              "{to: billingPhone}", // country is found by its name
		"name,\"Phone: main\",\"Mailing Country, State\",Phone Id": `{to: "Phone: main", country: "Mailing Country, State"}`,
	} {
		readAs(t, "{}", header+"\n"+strings.Repeat(",", strings.Count(header, ","))+"\n", "did you mean recipients.columns: "+want+"?")
	}
	readAs(t, "{columns: {to: Nummer}}", "Kunde,Telefon\nAda,+447400123456\n", "did you mean recipients.columns: {to: Telefon}?")
	readAs(t, "{columns: {to: Telefn}}", "Kunde,Telefon\nAda,+447400123456\n", "did you mean {to: Telefon}?")
	readAs(t, "{}", "a,b\nAda,+447400123456\n", "map it with recipients.columns: {to: COLUMN}")
	// A number of an unknown country names the column that may tell it.
	readAs(t, "{columns: {to: billing_phone}}", "billing_phone,billing_country\n07400 123456,GB\n",
		"write + and the country code, map the country with recipients.columns: {country: billing_country}, or set recipients.default_region")
	// So does a row without a number whose number may be in another column.
	readAs(t, "{}", "Phone,Default Address Phone\n,+447400123456\n,\n",
		`line 2, column "Phone": the cell is empty, and column "Default Address Phone" is not; read both with recipients.columns: `+
			`{to: [Phone, Default Address Phone]}`, "the cell is empty; fill in the number or remove the row")
}

// A file of suppressions has no campaign file, so no remedy names a key of one.
func TestASuppressionFileNamesNoKeyOfACampaign(t *testing.T) {
	for name, list := range map[string]string{
		"title":     "Report\nall\nto,scope\n+447400123456,all\n",
		"country":   "to,billing_country\n07400123456,GB\n",
		"totals":    "to,scope\n+447400123456,all\nTotal,\n",
		"second":    "to,scope\nphone,scope\n+447400123456,all\n",
		"other":     "to,mobile,scope\n,+447400123456,all\n",
		"no column": "Kunde,Handy,Telefon\na,+447400123456,\n",
		"two":       "mobile,phone\n+447400123456,\n",
	} {
		var said []string
		_, err := campaign.ImportSuppressions(context.Background(), suppressing{}, campaign.SuppressionFile{Path: "s.csv", Input: strings.NewReader(list),
			Scope: campaign.ScopeAll, At: time.Now(), Rejected: func(_ int, why string) { said = append(said, why) }})
		if err != nil {
			said = append(said, err.Error())
		}
		if len(said) == 0 || strings.Contains(strings.Join(said, "\n"), "recipients.") {
			t.Errorf("%s: got %q, want a message without keys of a campaign file", name, said)
		}
	}
}

// suppressing takes every suppression.
type suppressing struct{ campaign.SuppressionLedger }

func (suppressing) Suppress(_ context.Context, list []campaign.Suppression) (int, error) {
	return len(list), nil
}
