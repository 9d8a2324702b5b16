package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/launch"
)

// exports are the lists of testdata/lists/exports, with the columns line that each needs and what
// becomes of its rows. The README there says what each imitates.
var exports = []struct {
	file, columns string
	sendable      int64
	skipped       map[campaign.SkipReason]int64
}{
	{"shopify-customers", "to: [Phone, Default Address Phone], country: Default Address Country Code, first_name: First Name", 29,
		map[campaign.SkipReason]int64{campaign.MissingPhone: 1}},
	{"hubspot-contacts", "to: [Mobile Phone Number, Phone Number], first_name: First Name", 28,
		map[campaign.SkipReason]int64{campaign.MissingPhone: 1, campaign.InvalidPhone: 1}},
	{"woocommerce-customers", "to: billing_phone, country: billing_country", 28,
		map[campaign.SkipReason]int64{campaign.MissingPhone: 1, campaign.InvalidPhone: 1}},
	{"klaviyo-list", "first_name: First Name", 24, map[campaign.SkipReason]int64{campaign.MissingPhone: 5, campaign.InvalidPhone: 1}},
	{"salesforce-report", "to: [Mobile, Phone], country: Mailing Country, first_name: First Name", 29,
		map[campaign.SkipReason]int64{campaign.MissingPhone: 1, campaign.MalformedRow: 5}},
	{"google-contacts", "to: [Phone 1 - Value, Phone 2 - Value], country: Address 1 - Country, first_name: First Name", 29,
		map[campaign.SkipReason]int64{campaign.MissingPhone: 1}},
}

// A new user checks an export, and sends it, with one line and without an editor.
func TestAnExportNeedsAtMostAColumnsLine(t *testing.T) {
	t.Parallel()
	d := newFixture(t, nil)
	files, err := filepath.Glob("../../testdata/lists/exports/*.csv")
	if err != nil || len(files) != len(exports) {
		t.Fatalf("%d exports, %v, want the %d of the table", len(files), err, len(exports))
	}
	for _, e := range exports {
		text, err := os.ReadFile(filepath.Join("../../testdata/lists/exports", e.file+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		list := d.write(e.file+".csv", string(text))
		file := d.write(e.file+".yaml", "name: "+e.file+`
connections: [conn_1]
template: {name: order_update, language: en_US, category: UTILITY, body: ["{{ .first_name }}", A-1]}
recipients: {columns: {`+e.columns+"}}\n")
		var p launch.Preflight
		if err := json.Unmarshal([]byte(d.want(0, "check", file, "--recipients", list, "-o", "json").stdout), &p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e.skipped, p.Skipped); diff != "" || p.Sendable != e.sendable {
			t.Errorf("%s: %d can be sent, want %d; skipped -want +got:\n%s", e.file, p.Sendable, e.sendable, diff)
		}
		d.want(0, "run", file, "--recipients", list)
		rows, err := csv.NewReader(strings.NewReader(d.want(0, "report", "latest", "--format", "csv").stdout)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		delivered := int64(0)
		for _, row := range rows[1:] {
			if row[3] == string(campaign.Delivered) || row[3] == string(campaign.Read) {
				delivered++
			}
			if row[3] != "skipped" && !strings.HasPrefix(row[1], "+") {
				t.Errorf("%s: %q, want a number with +", e.file, row)
			}
		}
		if delivered != e.sendable {
			t.Errorf("%s: %d delivered or read, want %d:\n%v", e.file, delivered, e.sendable, rows)
		}
	}
}
