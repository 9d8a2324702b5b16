package file_test

import (
	"strings"
	"testing"

	"campaignd/campaign/file"
	"campaignd/internal/messaging"
	"campaignd/recipients"
)

// A draft can be read as it is, fills each variable whose column has its name, and guesses no
// other.
func TestADraftGuessesNoText(t *testing.T) {
	list := recipients.Sketch{Header: []string{"Phone: main", "Vorname", "Order No.", "code", "fürÄ"}, To: []string{"Phone: main"}, Local: 2}
	component := func(kind, format, text string, buttons ...messaging.ComponentButton) messaging.Component {
		return messaging.Component{Type: kind, Format: format, Text: text, Buttons: buttons}
	}
	for name, c := range map[string]struct {
		record *messaging.TemplateRecord
		want   []string
		not    string
	}{
		"the service was not asked": {nil, []string{`# body: ["{{ .first_name }}"]`, "to: \"Phone: main\"\n", "first_name: Vorname\n",
			"# 2 numbers have no + and no country"}, "category"},
		"numbered": {&messaging.TemplateRecord{Category: "UTILITY",
			Components: []messaging.Component{component("BODY", "", "Hi {{1}}\n{{2}} {{1}}")}},
			[]string{"category: UTILITY", `  # Hi {{1}} {{2}} {{1}}`, `body: ["{{ .first_name }}", "{{ .variable_2 }}"]`,
				"# variable_2: COLUMN   # {{2}} of the body"}, "buttons"},
		"named": {&messaging.TemplateRecord{Components: []messaging.Component{component("BODY", "", "{{vorname}} {{order_no}} {{total}}")}},
			[]string{`body: ["{{ .vorname }}", "{{ .order_no }}", "{{ .total }}"]`, "vorname: Vorname", "order_no: Order No.", "# total: COLUMN"},
			"first_name"},
		"one-time code": {&messaging.TemplateRecord{Category: "AUTHENTICATION",
			Components: []messaging.Component{component("BODY", "", "{{1}} is your code"),
				component("BUTTONS", "", "", messaging.ComponentButton{Type: "OTP"})}}, []string{`otp: "{{ .code }}"`, "code: code"}, "body"},
		"header and buttons": {&messaging.TemplateRecord{Components: []messaging.Component{component("HEADER", "IMAGE", ""),
			component("BODY", "", "Hi"),
			component("BUTTONS", "", "", messaging.ComponentButton{Type: "QUICK_REPLY", Text: "Stop"},
				messaging.ComponentButton{Type: "URL", Text: "Go", URL: "https://e.example/{{1}}"},
				messaging.ComponentButton{Type: "COPY_CODE", Text: "Copy"})}},
			[]string{"header: {image: {file: CHANGE-ME}}",
				`buttons: [{type: url, text: "{{ .button_2 }}"}, {type: copy_code, text: "{{ .button_3 }}"}]`,
				`# button_2: COLUMN   # the end of the address of button "Go"`}, "body"},
	} {
		d := file.Draft{Template: "offer", Language: "en_US", Record: c.record, Connection: "conn_1", List: list}
		text := d.YAML()
		if _, err := file.Parse("offer.yaml", []byte(text)); err != nil {
			t.Errorf("%s: %v, want it read:\n%s", name, err, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: got\n%s\nwant %s", name, text, want)
			}
		}
		if strings.Contains(text, "  "+c.not) {
			t.Errorf("%s: got\n%s\nwant no %s", name, text, c.not)
		}
	}
}
