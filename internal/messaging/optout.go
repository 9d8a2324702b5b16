package messaging

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// optOutWords are the whole messages that mean "stop", in the form of fold. The seed
// says STOP (States and transitions); which other words and languages the service knows is not shown, so this list
// stands beside it. A word is listed when it is what operators in that language teach, and means
// nothing else as a whole message to a shop. Read only.
var optOutWords = foldAll(
	// English: CTIA's words, and common ones.
	"stop", "stopall", "stop all", "unsubscribe", "cancel", "end", "quit", "opt out", "optout", "opt-out", "revoke", "remove me",
	"stop please", "please stop", "stop messages", "stop promotions", "stop sending", "stop sending messages", "unsubscribe me",
	// French
	"arret", "arrêt", "arreter", "arrêter", "arretez", "stop pub", "desabonner", "désabonner", "me désabonner", "desinscription",
	"désinscription", "se désinscrire", "désinscrire", "desabonnement",
	// Spanish, Portuguese
	"baja", "parar", "alto", "detener", "cancelar", "no molestar", "darme de baja", "dar de baja", "cancelar suscripción", "pare", "sair", "descadastrar",
	"remover", "cancelar inscrição",
	// German, Dutch, Italian
	"stopp", "abmelden", "abbestellen", "austragen", "afmelden", "uitschrijven", "disiscrivimi", "cancellami", "annulla iscrizione",
	// Turkish, Polish, Russian, Ukrainian
	"dur", "iptal", "ret", "wypisz", "rezygnuję", "стоп", "отписаться", "отписка", "відписатися",
	// Arabic, Hebrew, Persian
	"توقف", "إيقاف", "ايقاف", "قف", "إلغاء", "إلغاء الاشتراك", "الغاء الاشتراك", "הסר", "הסירו אותי", "لغو",
	// Hindi, Urdu, Bengali
	"रोकें", "बंद करो", "बंद करें", "بند کرو", "বন্ধ করুন",
	// Indonesian, Malay, Vietnamese, Filipino
	"berhenti", "henti", "hủy", "dừng", "itigil",
	// Swahili, Hausa, Amharic
	"acha", "sitisha", "simamisha", "daina", "tsaya", "አቁም",
	// Chinese, Japanese, Korean
	"停止", "退订", "退訂", "取消订阅", "取消訂閱", "td", "配信停止", "수신거부", "중지",
)

// OptOut knows the messages that mean "stop".
type OptOut struct{ extra map[string]bool }

// NewOptOut adds words of the operator's own, such as the payload of an Unsubscribe button.
func NewOptOut(extra ...string) OptOut { return OptOut{foldAll(extra...)} }

// Match reports whether text, as a whole, asks to stop. Case, accents, punctuation,
// emoji and spaces around do not matter; a sentence that merely holds the word does not count: "stop by tomorrow" is
// not an opt-out.
func (o OptOut) Match(text string) bool {
	if len(text) > 256 {
		return false
	}
	key := fold(text)
	return key != "" && (optOutWords[key] || o.extra[key])
}

// MatchMessage looks at an inbound message: its text, and the payload of the button that was pressed.
func (o OptOut) MatchMessage(in *Inbound) bool {
	return in != nil && (o.Match(in.Text) || o.Match(in.ButtonPayload))
}

// IsOptOut is OptOut.Match with the built-in list alone.
func IsOptOut(text string) bool { return OptOut{}.Match(text) }

func foldAll(words ...string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		if key := fold(w); key != "" {
			out[key] = true
		}
	}
	return out
}

// fold keeps letters and digits in lower case without accents, words apart by one space.
func fold(s string) string {
	var b strings.Builder
	space := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
			// accents, vowel marks, bidi marks: dropped on both sides
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mc, r):
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(unicode.ToLower(r))
		default:
			space = true
		}
	}
	return b.String()
}
