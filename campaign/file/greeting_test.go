package file

import (
	"testing"

	"campaignd/internal/messaging"
)

func TestAVariableIsANameOnlyWhereTheTextFits(t *testing.T) {
	for text, want := range map[string]bool{
		"Hi {{1}}, 20% off!": true, "Hola *{{1}}*": true, "Dear {{1}}": true, "{{1}}, your order is ready": true, "Olá, {{1}}!": true,
		"{{1}} is your verification code": false, "Your code: {{1}}": false, "The {{1}} sale begins": false,
		"Hi! Your order {{1}} is ready": false,
	} {
		if got := greets(messaging.Component{Text: text}); got != want {
			t.Errorf("%q: the first variable is a name: %v, want %v", text, got, want)
		}
	}
	code := messaging.Component{Text: "Hi {{1}}", Example: messaging.Example{BodyText: [][]string{{"123456"}}}}
	if greets(code) {
		t.Error("an example with digits is taken for a name")
	}
}
