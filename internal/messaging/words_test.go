package messaging

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAnOptOutIsAWholeMessageInAnyLanguage(t *testing.T) {
	for _, s := range []string{"STOP", "stop", " Stop! ", "S\u200dTOP", "STOP.", "🛑 stop 🛑", "Arrêt", "ARRET",
		"arre\u0302t", "STOP PUB", "Désabonner", "baja", "SAIR", "Abmelden",
		"СТОП", "İPTAL", "إيقاف", "توقف", "रोकें", "बंद करें", "退订", "停止", "hủy", "Berhenti", "ＳＴＯＰ", "opt-out", "Opt Out"} {
		if !(OptOut{}).Match(s) {
			t.Errorf("Match(%q) = false, want true", s)
		}
	}
	for _, s := range []string{"", " ", "👍", "stop by tomorrow", "don't stop", "bus stop", "Can I cancel my order?",
		"unstoppable", "yes", "end of month", strings.Repeat("stop ", 100)} {
		if (OptOut{}).Match(s) {
			t.Errorf("Match(%q) = true, want false", s)
		}
	}
	o := NewOptOut("No more offers", "")
	for text, want := range map[string]bool{
		"NO MORE OFFERS!": true, "stop": true, "more offers": false, "": false,
		"stop" + strings.Repeat(".", 252): true, "stop" + strings.Repeat(".", 253): false, // at most 256 bytes
	} {
		if got := o.Match(text); got != want {
			t.Errorf("Match(%.40q of %d bytes) = %t, want %t", text, len(text), got, want)
		}
	}
	for in, want := range map[*Inbound]bool{
		{Text: "Nein danke", ButtonPayload: "no_more_offers"}: true, {Text: "stop", ButtonPayload: "more"}: true,
		{Text: "more"}: false, nil: false,
	} {
		if got := o.MatchMessage(in); got != want {
			t.Errorf("MatchMessage(%+v) = %t, want %t", in, got, want)
		}
	}
}

func TestMasksLeaveNothingThatCanBeCalled(t *testing.T) {
	for in, want := range map[string]string{
		"+15555550101": "+1555•••0101", "+221771234567": "+22177•••4567", "15555550101": "1555•••0101", "12345678": "1•••5678", "1234567": "•••",
		"+123456789012": "+12345•••9012", "+1234567": "+•••", "": "•••", "+": "+•••", "+\xff1234567": "+•••",
	} {
		if got := maskPhone(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	id := "wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"
	if got := maskID(id); got != "wamid.•••MDEA" && got != "wamid.•••"+id[len(id)-6:] || RecipientOfID(got) != "" {
		t.Errorf("maskID = %q, want the last six characters and no recipient", got)
	}
	for in, want := range map[string]string{
		"": "•••", "m1": "•••", "wamid.HBgLMTU1NTU1NTAx": "•••", "155555501011555555010115": "•••",
		"abcdefghijklmnopqrstuvw": "•••", "abcdefghijklmnopqrstuvwx": "•••stuvwx", "wamid.abcdefghijklmnopqr": "wamid.•••mnopqr",
	} {
		if got := maskID(in); got != want {
			t.Errorf("maskID(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"to +1 555 555 0101 now":       "to +1555•••0101 now",
		"to +1 (555) 555-0101 now":     "to +1555•••0101 now",
		"to (0803) 000-0000":           "to (0803•••0000",
		"12 (of 34) or 56 (7)":         "12 (of 34) or 56 (7)",
		"order 1234567 of 12":          "order 1234567 of 12",
		"order 12345678":               "order 1•••5678",
		"12-34-56-78 and 1--2":         "1•••5678 and 1--2",
		"a\x7fb\u0085c\u00a0d\u2029e":  "a b c\u00a0d e",
		strings.Repeat("é", 60):        strings.Repeat("é", 50),
		"a" + strings.Repeat("é", 60):  "a" + strings.Repeat("é", 49),
		"dial tcp 102.20.35.53:443":    "dial tcp 102.20.35.53:443",
		"call 234.803.000.0000":        "call 23480•••0000",
		"01234567, 91234567":           "0•••4567, 9•••4567",
		"a\x80\x81b\xff":               "a\uFFFDb\uFFFD", // one for each run of invalid bytes
		strings.Repeat(" ", 399) + "a": "a",
		strings.Repeat(" ", 400) + "a": "", // only four times the limit is read
		"see " + id + ".":              "see wamid.•••" + id[len(id)-6:] + ".",
		"a\tb\r\nc\u2028d\x9b\x00":     "a b  c d\uFFFD",
	} {
		if got := Scrub(in, 100); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Each character is tested in a message id, among letters (control characters) and in a number.
func TestEveryCharacterIsMaskedForWhatItIs(t *testing.T) {
	const start, masked = "wamid.HBgLMTU1NTU1NTAxMDEVAgAR", "wamid.•••EVAgAR"
	const alphabets = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=-_" // RFC 4648, sections 4 and 5
	for c := rune(0); c < 0xb0; c++ {
		want, shown := masked+string(c)+"abcdef", string(c)
		switch {
		case strings.ContainsRune(alphabets, c):
			want = "wamid.•••abcdef"
		case c < ' ' || c >= 0x7f && c < 0xa0:
			want, shown = masked+" abcdef", " "
		}
		if got := Scrub(start+string(c)+"abcdef", 100); got != want {
			t.Errorf("%q within an ID: %q, want %q", c, got, want)
		}
		if got, want := Scrub("a"+string(c)+"b", 100), "a"+shown+"b"; got != want {
			t.Errorf("%q among letters: %q, want %q", c, got, want)
		}
		digit, all := "", c >= '0' && c <= '9'
		if all {
			digit = string(c)
		}
		for text, want := range map[string]string{"1" + string(c) + "9": "1" + digit + "9",
			"+1" + string(c) + "9": "1" + digit + "9", "+" + string(c) + "19": digit + "19"} {
			if got := onlyDigits(text); got != want {
				t.Errorf("digits of %q = %q, want %q", text, got, want)
			}
		}
		if got := allDigits("1" + string(c)); got != all {
			t.Errorf("allDigits of 1%q = %t, want %t", c, got, all)
		}
	}
	for length, want := range map[int]int{99: 99, 100: 100, 101: 100} {
		if got := len(Scrub(strings.Repeat("a", length), 100)); got != want {
			t.Errorf("%d bytes were cut to %d, want %d", length, got, want)
		}
	}
	if got, want := Scrub("to 12999990", 100), "to 1•••9990"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheRecipientIsReadFromTheMessageID(t *testing.T) {
	for id, want := range map[string]string{
		"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA": "15555550101",
		"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD01A":    "15555550101", // a tail that is no base64
		"wamid.HBgNNTUxNjk5MjMxODIyMhUC":                             "5516992318222",
		"wamid.HBgLMTU1NTU1NTAxMDH-_gAR":                             "15555550101", // the alphabet for URLs
		"wamid.HBgLMTU1NTU1NTAxMDH_-gAR":                             "15555550101",
		"wamid.HBgNNTUxNjk5MjMxODIy":                                 "", // cut off
		"wamid.":                                                     "",
		"HBgLMTU1NTU1NTAxMDEVAgAR":                                   "",
		"wamid.AAAAAAAAAAAAAAAAAAAAAAAA":                             "",
		"wamid.HBgLYWJjZGVmZ2hpamsVAgAR":                             "", // letters
		"":                                                           "",
	} {
		if got := RecipientOfID(id); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

func FuzzRecipientOfID(f *testing.F) {
	f.Add("wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA")
	f.Add("wamid.HBgNNTUxNjk5MjMxODIyMhUC")
	f.Fuzz(func(t *testing.T, id string) {
		if got := RecipientOfID(id); got != "" && (!allDigits(got) || len(got) < 7 || len(got) > 15) {
			t.Fatalf("read %q, want nothing or 7 to 15 digits", got)
		}
		if masked := maskID(id); RecipientOfID(masked) != "" {
			t.Fatalf("%q names the recipient, want it masked", masked)
		}
		OptOut{}.Match(id)
		if s := Scrub(id, 50); len(s) > 50 {
			t.Fatalf("%d bytes, want at most 50", len(s))
		}
	})
}

// Ids of the platform have the digits of a phone number. They stay readable where the error names
// them, and a phone number beside them does not.
func TestAnErrorKeepsTheIdsThatItNames(t *testing.T) {
	err := fmt.Errorf("list: %w", NamedBy(errors.New("account 102290129340398: no answer of +15555550101"), "102290129340398"))
	if got, want := ScrubError(err, 300), "list: account 102290129340398: no answer of +1555•••0101"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := ScrubError(errors.New("account 102290129340398"), 300), "account 10229•••0398"; got != want {
		t.Errorf("without names: got %q, want %q", got, want)
	}
}
