package file_test

import (
	"errors"
	"strings"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
)

// A one-time code may be given by a button in place of template.otp. The same rules hold there, in
// the file and in a row.
func TestACodeInAButtonIsHeldToItsRules(t *testing.T) {
	for text, want := range map[string]string{
		"123-456": "", "123456789012345": "",
		"123 456":          `template.buttons[0].text: "123 456" is not a one-time code`,
		"1234567890123456": `template.buttons[0].text: "1234567890123456" has 16 characters; at most 15 are allowed`,
	} {
		_, err := file.Parse("c.yaml", []byte("name: a\nconnections: [conn_1]\n"+
			"template: {name: hello_world, language: en_US, buttons: [{type: otp, text: '"+text+"'}]}\n"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("a file with the code %s: got %v, want %q", text, err, want)
		}
		r := compile(t, template(file.TemplateUse{Buttons: []file.Button{{Type: "otp", Text: "{{ .v }}"}}}), "v")
		err = r.Check([]string{text})
		var bad *file.VariableError
		if (err == nil) != (want == "") || err != nil && (!errors.As(err, &bad) || bad.Reason != campaign.InvalidVariable || bad.Column != "v") {
			t.Errorf("a row with the code %s: got %v, want column v at fault: %v", text, err, want != "")
		}
	}
}
