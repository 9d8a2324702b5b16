package messaging

import (
	"strings"
	"testing"
)

func TestTheTableOfOptOutWordsIsWhole(t *testing.T) {
	kinds := map[string]bool{"typed": true, "button": true, "courtesy": true, "mention": true}
	seen := map[string]bool{}
	for n, line := range strings.Split(strings.TrimSuffix(optOutText, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		switch {
		case len(cells) != 4 || !kinds[cells[0]] || cells[1] == "" || cells[2] == "" || cells[3] == "":
			t.Errorf("line %d: got %q, want kind, language, text and source", n+1, line)
		case cells[2] != "-" && fold(cells[2]) == "":
			t.Errorf("line %d: %q has no letter", n+1, cells[2])
		case cells[0] == "typed" && seen[fold(cells[2])]:
			t.Errorf("line %d: %q is listed twice", n+1, cells[2])
		}
		if cells[0] == "typed" {
			seen[fold(cells[2])] = true
		}
	}
}

func TestAPressOnThePlatformsButtonOptsOut(t *testing.T) {
	for _, title := range []string{"Stop promotions", "Parar promoções", "Detener promociones", "Interrompi promozioni",
		"Werbeaktionen stoppen",
		"Arrêter les promotions", "停止促销", "إيقاف العروض"} {
		if !(OptOut{}).Pressed(title, title) || !(OptOut{}).Pressed("", strings.ToUpper(title)) {
			t.Errorf("a press on %q is no opt-out, want one", title)
		}
	}
	for language, want := range map[string]bool{"en": true, "en_US": true, "pt-BR": true, "es_MX": true, "de": false, "zh_CN": false,
		"af": false, "": false} {
		if got := TitleConfirmed(language); got != want {
			t.Errorf("the title in %q is confirmed: %v, want %v", language, got, want)
		}
	}
}

func TestAnOptOutMayBePoliteOrRepeated(t *testing.T) {
	for _, s := range []string{"Darse de baja", "Se désabonner", "No más mensajes", "Não quero receber", "Stop marketing",
		"Unsubscribe from promotions", "Keine Werbung mehr", "BAJA por favor", "Stop. Thank you", "STOP STOP", "stop stop stop!",
		"Please, stop. Thanks!",
		"Bitte keine Werbung mehr", "baja baja, gracias", "please please stop"} {
		if !(OptOut{}).Match(s) {
			t.Errorf("Match(%q) = false, want true", s)
		}
	}
	for _, s := range []string{"stop, X is not coming", "thank you", "please", "please thank you", "stop thank you for your help", "no",
		"no no no",
		"stop go", "I do not want to unsubscribe from promotions", "no baja", "gracias por parar aquí", "stop the bus please"} {
		if (OptOut{}).Match(s) {
			t.Errorf("Match(%q) = true, want false", s)
		}
	}
}

func TestATextThatSpeaksOfStoppingIsFound(t *testing.T) {
	for text, want := range map[string]string{"Not interested? Tap Stop promotions": "stop", "Reply STOP to opt out": "stop",
		"¿No te interesa? Toca \"Detener promociones\"": "detener", "End of season: 20 % off!": "", "": "", "nonstop fun": ""} {
		if got := (OptOut{}).Mentions(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Whatever a stranger writes, a match is a short text, and matching it again gives the same.
func FuzzOptOut(f *testing.F) {
	for _, s := range []string{"STOP STOP", "please please please stop", strings.Repeat("por favor ", 25), strings.Repeat("a ", 128),
		"stop\x00stop"} {
		f.Add(s)
	}
	o := NewOptOut("No more offers")
	f.Fuzz(func(t *testing.T, text string) {
		if o.Match(text) && (len(text) > 256 || fold(text) == "" || !o.Match(fold(text))) {
			t.Errorf("matches %q", text)
		}
		o.Mentions(text)
	})
}
