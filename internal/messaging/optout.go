package messaging

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// optOutWords are the whole messages that mean "stop", as fold writes them. The document of the
// service names only STOP (docs/service.md#opt-outs), so this list adds words of other languages. A
// word is in the list if shops teach it to their customers in that language and if it has no other
// meaning as a whole message to a shop. Read only.
var optOutWords = foldAll(
	// English: the keywords of the CTIA (https://www.ctia.org) and other common ones
	"stop", "stopall", "stop all", "unsubscribe", "cancel", "end", "quit", "opt out", "optout", "opt-out", "revoke", "remove me",
	"stop please", "please stop", "stop messages", "stop promotions", "stop sending", "stop sending messages", "unsubscribe me",
	// French
	"arret", "arrêt", "arreter", "arrêter", "arretez", "stop pub", "desabonner", "désabonner", "me désabonner", "desinscription",
	"désinscription", "se désinscrire", "désinscrire", "desabonnement",
	// Spanish, Portuguese
	"baja", "parar", "alto", "detener", "cancelar", "no molestar", "darme de baja", "dar de baja",
	"cancelar suscripción", "pare", "sair", "descadastrar",
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

// OptOut knows the messages that mean "stop". The zero value knows the built-in list.
type OptOut struct{ extra map[string]bool }

// NewOptOut adds words of the operator to the built-in list, such as the payload of an Unsubscribe
// button.
func NewOptOut(extra ...string) OptOut { return OptOut{foldAll(extra...)} }

// Match reports whether the whole text asks to stop. Case, accents, punctuation, emoji and
// surrounding spaces do not matter. A sentence that only contains the word is no opt-out: "stop by
// tomorrow". A text of more than 256 bytes is no opt-out.
func (o OptOut) Match(text string) bool {
	if len(text) > 256 {
		return false
	}
	key := fold(text)
	return key != "" && (optOutWords[key] || o.extra[key])
}

// MatchMessage reports whether the text of a message, or the payload of the pressed button, asks to
// stop. in may be nil.
func (o OptOut) MatchMessage(in *Inbound) bool {
	return in != nil && (o.Match(in.Text) || o.Match(in.ButtonPayload))
}

func foldAll(words ...string) map[string]bool {
	out := make(map[string]bool, len(words))
	for _, w := range words {
		if key := fold(w); key != "" {
			out[key] = true
		}
	}
	return out
}

// fold returns the letters and digits of s in lower case and without accents. One space separates
// the words.
func fold(s string) string {
	var b strings.Builder
	space := false
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r):
			// accents, vowel marks and bidi marks are dropped, in the list and in the message
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
