package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first campaign for an export maps what its names tell. The rest stays open, and check asks
// for it.
func TestInitWritesTheMappingOfAList(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	export, err := os.ReadFile("../../testdata/lists/exports/hubspot-contacts.csv")
	if err != nil {
		t.Fatal(err)
	}
	d.write("hubspot.csv", "All contacts\n\n"+string(export))
	d.want(0, "init", d.dir, "--from", d.path("hubspot.csv"), "--template", "spring_sale")
	const want = "# `campaignd check` looks at this file and its list; `campaignd config schema campaign` lists every key.\n" +
		`name: spring_sale
connections: [conn_1]
template:
  name: spring_sale
  language: en_US
  category: MARKETING
  # Hi {{1}}, our spring sale is on: {{2}} off everything until Sunday.
  body: ["{{ .first_name }}", "{{ .variable_2 }}"]
  buttons: [{type: url, text: "{{ .button_1 }}"}]
recipients:
  file: hubspot.csv
  skip: 2
  columns:
    to: [Mobile Phone Number, Phone Number]   # the first that is filled
    country: Country/Region   # where a number without + is dialled
    first_name: First Name
    # variable_2: COLUMN   # {{2}} of the body
    # button_1: COLUMN   # the end of the address of button "Shop now"
`
	text, err := os.ReadFile(d.path("spring_sale.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("spring_sale.yaml -want +got:\n%s", diff)
	}
	wantIn(t, "check", d.want(2, "check", d.path("spring_sale.yaml")).stderr, `the list has no column "variable_2"`)
	done := strings.NewReplacer("# variable_2: COLUMN", "variable_2: Lead Status", "# button_1: COLUMN",
		"button_1: Record ID").Replace(string(text)) +
		"variables: {variable_2: {default: 10 %}}\n"
	d.write("spring_sale.yaml", done)
	wantIn(t, "check", d.want(0, "check", d.path("spring_sale.yaml")).stdout, "30 rows, 28 can be sent")

	r := d.want(2, "init", d.dir, "--from", d.path("hubspot.csv"), "--template", "spring_sale")
	wantIn(t, "init", r.stderr, "spring_sale.yaml exists already, so nothing was written")
	wantIn(t, "init", d.want(2, "init", d.path("a"), "--from", d.path("hubspot.csv"), "--template", "spring_sal").stderr,
		`the service lists no template spring_sal; did you mean "spring_sale"?`)
	wantIn(t, "init", d.want(2, "init", d.path("a"), "--from", d.path("hubspot.csv"), "--template", "spring_sale", "--language", "fr").stderr,
		"the service lists no template spring_sale fr")
	wantIn(t, "init", d.want(2, "init", d.path("a"), "--from", d.path("hubspot.csv")).stderr, "want both --from LIST and --template NAME")
	wantIn(t, "init", d.want(2, "init", d.path("a"), "--from", d.path("none.csv"), "--template", "x").stderr, "there is no such file")
	d.write("no.csv", "Kunde,Ort\nAda,Bonn\n")
	wantIn(t, "init", d.want(2, "init", d.path("a"), "--from", d.path("no.csv"), "--template", "spring_sale").stderr,
		`the columns are "Kunde", "Ort"`)
	if _, err := os.Stat(d.path("a")); !os.IsNotExist(err) {
		t.Errorf("the folder of a refused init: %v, want none", err)
	}

	// Without a service the mapping is written too.
	d.env["CAMPAIGND_SERVICE_BASE_URL"] = "http://" + freePort(t)
	d.write("local.csv", "vorname;telefon\nAda;0151 23456789\nBen;+4915123456780\n")
	wantIn(t, "init", d.want(0, "init", d.path("b"), "--from", d.path("local.csv"), "--template", "spring_sale").stderr,
		"the service does not answer", "--recipients "+d.path("local.csv"))
	text, err = os.ReadFile(d.path("b/spring_sale.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, "the file", string(text), `  # body: ["{{ .first_name }}"]`, "    to: telefon\n    first_name: vorname\n",
		"  # 1 number has no + and no country: set default_region: DE")
	wantIn(t, "init", d.want(2, "init", d.path("b"), "--from", d.path("local.csv"), "--template", "../x").stderr, "template.name")
}
