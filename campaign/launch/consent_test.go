package launch_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/campaign/launch"
	"campaignd/recipients"
)

// consenting is a campaign over a list with columns that say who agreed; more is added to its
// recipients.
func consenting(category, more string) string {
	return "name: sale\nconnections: [conn_1]\n" +
		"template: {name: hello_world, language: en_US, category: " + category + ", body: [\"{{ .first_name }}\"]}\n" +
		"recipients:\n  columns: {to: phone}\n" + more
}

const consentList = `phone,first_name,SMS Marketing Consent,Do Not Call
+2348031234501,Ada,UNSUBSCRIBED,0
+2348031234502,Bola, subscribed ,0
+2348031234503,Chi,SUBSCRIBED,1
+2348031234504,Dan,NEVER_SUBSCRIBED,
+2348031234505,Eve,Subscribed,
+2348031234501,Ada,SUBSCRIBED,0
12345,Femi,UNSUBSCRIBED,0
12345,Gani,SUBSCRIBED,0
+2348031234508,Hal,SUBSCRIBED,00
+2348031234509,one cell
+2348031234502,Ife,UNSUBSCRIBED,0
`

const consentWhere = "  where: {SMS Marketing Consent: SUBSCRIBED, Do Not Call: [\"0\", \" \"]}\n"

// A row that the campaign does not choose is nobody's message, whatever else is wrong with it, and
// does not make a later row a duplicate. The check counts what the import does.
func TestOnlyRowsThatMatchWhereAreSentTo(t *testing.T) {
	want := []campaign.SkipReason{campaign.Filtered, "", campaign.Filtered, campaign.Filtered, "", "", campaign.Filtered,
		campaign.InvalidPhone, campaign.Filtered, campaign.MalformedRow, campaign.Filtered}
	l, d := openLedger(t), parse(t, consenting("MARKETING", consentWhere))
	path := writeFile(t, "list.csv", consentList)
	run := newRun(t, l, d, path)
	counts, err := launch.Import(t.Context(), launch.ImportInput{Ledger: l, Run: run, Definition: d, List: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.FinishImport(t.Context(), run.No, counts.Rows, campaign.Ready); err != nil {
		t.Fatal(err)
	}
	var got []campaign.SkipReason
	for _, line := range lines(t, l, run.No) {
		got = append(got, campaign.SkipReason(line.Reason))
		if note := string(campaign.Filtered); line.Reason == note && line.Skip != campaign.Filtered {
			t.Errorf("row %d: skipped as %q, want %q", line.Row, line.Skip, note)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows -want +got:\n%s", diff)
	}
	problems, _, err := l.Audit(t.Context(), run.No, 10)
	if err != nil || len(problems) > 0 {
		t.Errorf("audit: %+v, %v; want the sum to balance", problems, err)
	}
	var rejected []int64
	p := preflight(t, launch.PreflightInput{Definition: d, File: "sale.yaml", List: path,
		Rejects: func(r campaign.Reject) error { rejected = append(rejected, r.Row); return nil }})
	if p.Sendable != 3 || p.Skipped[campaign.Filtered] != 6 || p.BadRows() != 2 {
		t.Errorf("check: %d sendable, skipped %v, %d bad; want 3, 6 filtered, 2", p.Sendable, p.Skipped, p.BadRows())
	}
	if diff := cmp.Diff([]int64{8, 10}, rejected); diff != "" {
		t.Errorf("rows to correct -want +got:\n%s", diff)
	}
	for _, e := range p.Examples {
		if want := `line 2: column "SMS Marketing Consent" has no value that recipients.where names`; e.Row == 1 && e.Note != want {
			t.Errorf("row 1: %q, want %q", e.Note, want)
		}
		if want := `line 4: column "Do Not Call" has no value that recipients.where names`; e.Row == 3 && e.Note != want {
			t.Errorf("row 3: %q, want %q", e.Note, want)
		}
	}
}

func TestWhereNeedsItsColumn(t *testing.T) {
	source := consenting("MARKETING", "  where:\n    SMS Marketing Consnt: [SUBSCRIBED]\n")
	in := launch.PreflightInput{Definition: parse(t, source), Source: []byte(source), File: "sale.yaml",
		List: writeFile(t, "list.csv", consentList)}
	p := preflight(t, in)
	want := `sale.yaml:7:5: recipients.where.SMS Marketing Consnt: the list has no column "SMS Marketing Consnt"; ` +
		`did you mean "SMS Marketing Consent"? (`
	if e := p.Errors(); len(e) != 1 || !strings.HasPrefix(e[0].String(), want) {
		t.Errorf("got %v, want %s", e, want)
	}
	in.List = writeFile(t, "twice.csv", "phone,first_name,SMS Marketing Consnt,SMS Marketing Consnt\n+2348031234501,Ada,a,b\n")
	if e := preflight(t, in).Errors(); len(e) != 1 || !strings.Contains(e[0].What, "several columns") {
		t.Errorf("two such columns: got %v, want an error", e)
	}
	for more, want := range map[string]string{
		"  where: {Consent: []}\n":     "no value is named",
		"  where: {Consent: }\n":       "recipients.where.Consent: has no value",
		"  where: {\" \": [a]}\n":      "no column is named",
		"  where: {Consent: [0]}\n":    "put it in quotes",
		"  where: {Consent: [true]}\n": "put it in quotes",
		"  where: [Consent]\n":         "want keys with values, not a list",
		"  ignore: [\" \"]\n":          "no column is named",
	} {
		if _, err := file.Parse("a.yaml", []byte(consenting("MARKETING", more))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", more, err, want)
		}
	}
}

// warned checks a list with one more column, and returns the warnings about it.
func warned(t *testing.T, category, more, column string) (found []string) {
	t.Helper()
	d := parse(t, consenting(category, more))
	list := "phone,first_name,\"" + column + "\"\n+2348031234501,Ada,YES\n"
	p := preflight(t, launch.PreflightInput{Definition: d, File: "sale.yaml", List: writeFile(t, "list.csv", list)})
	for _, w := range p.Warnings() {
		if strings.Contains(w.What, "consent") {
			found = append(found, w.What)
		}
	}
	return found
}

func TestAConsentColumnIsNotPassedOver(t *testing.T) {
	for _, column := range []string{
		"SMS Marketing Consent", "Email Marketing Consent", "sms_marketing_consent", "Unsubscribed from all email", "Marketing contact status",
		"Legal basis for processing contact's data", "OPTIN_TIME", "UNSUB_TIME", "Accepts SMS Marketing", "accepts_marketing", "Do Not Call",
		"DoNotCall", "HasOptedOutOfEmail", "Email Opt Out", "SMS Opt Out", "mailchimp_woocommerce_is_subscribed", "kl_sms_consent_checkbox",
		"DOUBLE_OPT-IN", "SMS_BLACKLISTED", "Unsubscribed Date", "donotphone", "Do not allow Phone Calls", "Marketing status", "DNC",
		"WhatsApp opt-in", "Opted out", "Einwilligung WhatsApp", "Einverständnis", "Werbesperre", "Bitte nicht anrufen", "DSGVO-Zustimmung",
		"Consentement SMS", "Désabonné", "Ne pas appeler", "RGPD", "Consentimiento", "No llamar", "Fecha de baja", "Acepta publicidad",
		"Consentimento LGPD", "Não ligar", "Descadastrado", "Aceita marketing",
	} {
		want := `column "` + column + `" looks like consent or an opt-out and is not used`
		if got := warned(t, "MARKETING", "", column); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q: got %q, want %s", column, got, want)
		}
		for _, used := range []string{"  where: {\"" + column + "\": [\"yes\"]}\n", "  ignore: [\"" + column + "\"]\n"} {
			if got := warned(t, "MARKETING", used, column); len(got) != 0 {
				t.Errorf("%q with %q: got %q, want no warning", column, used, got)
			}
		}
		if got := warned(t, "UTILITY", "", column); len(got) != 0 {
			t.Errorf("%q for a UTILITY template: got %q, want no warning", column, got)
		}
	}
	if got := warned(t, "MARKETING", "  ignore: [SMS Marketing Consent]\n", "SMS Marketing Consent Timestamp"); len(got) != 0 {
		t.Errorf("the time of an ignored consent: got %q, want no warning", got)
	}
	if got := warned(t, "MARKETING", "  ignore: [SMS Marketing Consent]\n", "Email Marketing Consent"); len(got) != 1 {
		t.Errorf("another consent than the ignored one: got %q, want a warning", got)
	}
	for _, column := range []string{
		"First Name", "Option", "Adoption date", "Content", "Contact owner", "Description", "Caption", "Last order", "Total Spent", "Tags",
		"Labels", "Lifecycle stage", "Market", "Marketing campaign", "Company", "Rabatt", "Vorname", "Bestellung", "Prénom", "Ville",
		"Nombre", "Ciudad", "Nome", "Cidade", "Status", "Notes", "MEMBER_RATING", "LATITUDE", "Baja California", "Color",
	} {
		if got := warned(t, "MARKETING", "", column); len(got) != 0 {
			t.Errorf("%q: got %q, want no warning", column, got)
		}
	}
}

// A sidecar may choose rows too, and Options of the list stay as they are.
func TestWhereIsStoredWithItsRun(t *testing.T) {
	d := parse(t, consenting("MARKETING", consentWhere))
	stored, err := file.ParseStored("sale-1", []byte(consenting("MARKETING", consentWhere)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]recipients.Names{"SMS Marketing Consent": {"SUBSCRIBED"}, "Do Not Call": {"0", " "}}
	for _, d := range []*file.Definition{d, stored} {
		if diff := cmp.Diff(want, d.Recipients.Where); diff != "" {
			t.Errorf("where -want +got:\n%s", diff)
		}
	}
}
