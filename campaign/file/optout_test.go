package file

import (
	"strings"
	"testing"

	"campaignd/internal/messaging"

	"github.com/google/go-cmp/cmp"
)

func marketing(language, footer string, titles ...string) *messaging.TemplateRecord {
	var buttons []messaging.ComponentButton
	for _, title := range titles {
		buttons = append(buttons, messaging.ComponentButton{Type: "QUICK_REPLY", Text: title})
	}
	return &messaging.TemplateRecord{Name: "sale", Language: language, Category: "MARKETING", Components: []messaging.Component{
		{Type: "BODY", Text: "End of season: 20 % off!"}, {Type: "FOOTER", Text: footer}, {Type: "BUTTONS", Buttons: buttons}}}
}

func TestAQuickReplySaysWhetherItOptsOut(t *testing.T) {
	use := TemplateUse{Buttons: []Button{{Type: "url", Text: "x"}, {Type: "quick_reply", Text: "more"}, {Type: "quick_reply", Text: "STOP"}}}
	got := QuickReplies(&use, marketing("pt_BR", "", "Saiba mais", "Tchau", "Parar promoções", "Nunca mais"),
		messaging.NewOptOut("nunca mais"))
	want := []QuickReply{{"Saiba mais", false}, {"Tchau", true}, {"Parar promoções", true}, {"Nunca mais", true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestMarketingThatNobodyCanStopIsWarnedOf(t *testing.T) {
	utility := marketing("en", "Reply STOP", "Details")
	utility.Category = "UTILITY"
	for name, c := range map[string]struct {
		template *messaging.TemplateRecord
		want     string // what the warning contains; "": none
	}{
		"its button opts out":         {marketing("es", "¿No te interesa? Toca \"Detener promociones\"", "Detener promociones"), ""},
		"no button, no word":          {marketing("de", ""), ""},
		"the text speaks of stopping": {marketing("en", "Not interested? Tap Stop promotions"), `speaks of stopping ("stop")`},
		"another button":              {marketing("de", "Kein Interesse? Abmelden", "Mehr"), `no quick reply opts out: "Mehr"`},
		"a title nobody knows": {marketing("de", "", "Mehr", "Schluss"),
			`("Mehr", "Schluss"), and the title of the platform's own opt-out button in de`},
		"the titles of it are known":   {marketing("en_GB", "", "More"), ""},
		"a utility template":           {utility, ""},
		"a button in another language": {marketing("ka", "", "Stop promotions"), ""},
	} {
		got := strings.Join(said(func(say sayer) { CheckOptOut(&TemplateUse{}, c.template, messaging.OptOut{}, say) }), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.Contains(got, "error ") {
			t.Errorf("%s: said %q, want %q in a warning", name, got, c.want)
		}
	}
}
