package messaging

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// optOutText is the table of words; its head describes it. The document of the service names only
// STOP (docs/service.md#opt-outs).
//
//go:embed optout_words.tsv
var optOutText string

// words is the table of words as it is used. Keys are as fold writes them. Read only.
type words struct {
	stops     map[string]bool // whole messages, and titles of buttons
	courtesy  []string        // the longest first
	mentions  map[string]bool
	confirmed map[string]bool // languages whose title of the platform's button has a source
}

// optOutWords reads the table at the first call.
var optOutWords = sync.OnceValue(func() words {
	w := words{stops: map[string]bool{}, mentions: map[string]bool{}, confirmed: map[string]bool{}}
	for line := range strings.Lines(optOutText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		kind, language, key, source := cells[0], cells[1], fold(cells[2]), cells[3]
		switch {
		case key == "":
		case kind == "courtesy":
			w.courtesy = append(w.courtesy, key)
		case kind == "mention":
			w.mentions[key] = true
		default:
			w.stops[key] = true
			if kind == "button" && source != "-" {
				w.confirmed[language] = true
			}
		}
	}
	slices.SortFunc(w.courtesy, func(a, b string) int { return len(b) - len(a) })
	return w
})

// OptOut knows the messages that mean "stop". The zero value knows the built-in list.
type OptOut struct{ extra map[string]bool }

// NewOptOut adds words of the operator to the built-in list, such as the payload of an Unsubscribe
// button.
func NewOptOut(extra ...string) OptOut { return OptOut{foldAll(extra...)} }

// Match reports whether the whole text asks to stop. Case, accents, punctuation, emoji and
// surrounding spaces do not matter, nor do words of courtesy around it ("Stop. Thank you") or its
// repetition ("STOP STOP"). A sentence that only contains the word is no opt-out: "stop by
// tomorrow". A text of more than 256 bytes is no opt-out.
func (o OptOut) Match(text string) bool {
	if len(text) > 256 {
		return false
	}
	known := optOutWords()
	key := fold(text)
	asks := func(key string) bool { return key != "" && (known.stops[key] || o.extra[key]) }
	if asks(key) {
		return true
	}
	key = plain(key, known.courtesy)
	return asks(key) || asks(once(key))
}

// plain returns a folded text without the words of courtesy at its beginning and end.
func plain(key string, courtesy []string) string {
	for before := ""; key != before; {
		before = key
		for _, c := range courtesy {
			if rest, ok := strings.CutPrefix(key, c+" "); ok {
				key = rest
			}
			if rest, ok := strings.CutSuffix(key, " "+c); ok {
				key = rest
			}
		}
	}
	return key
}

// once returns the phrase of which a folded text is a repetition, else the text.
func once(key string) string {
	parts := strings.Split(key, " ")
	for n := 1; n <= len(parts)/2; n++ {
		phrase := strings.Join(parts[:n], " ")
		if len(parts)%n == 0 && key == strings.Repeat(phrase+" ", len(parts)/n-1)+phrase {
			return phrase
		}
	}
	return key
}

// Pressed reports whether a press on a quick reply asks to stop. Its event has the title, and the
// payload that the message gave the button, or the title again.
func (o OptOut) Pressed(title, payload string) bool { return o.Match(title) || o.Match(payload) }

// Mentions returns the first words of a text that speak of stopping; "" if it does not.
func (o OptOut) Mentions(text string) string {
	known, parts := optOutWords(), strings.Fields(fold(text))
	for i := range parts {
		for n := 1; n <= mostWords && i+n <= len(parts); n++ {
			if phrase := strings.Join(parts[i:i+n], " "); known.mentions[phrase] || o.extra[phrase] {
				return phrase
			}
		}
	}
	return ""
}

// mostWords is the most words of a phrase that Mentions finds.
const mostWords = 4

// TitleConfirmed reports whether a public page shows the title of the platform's own opt-out button
// in the language of a template.
func TitleConfirmed(language string) bool {
	known := optOutWords().confirmed
	base, _, _ := strings.Cut(FoldLanguage(language), "_")
	return known[FoldLanguage(language)] || known[base]
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
