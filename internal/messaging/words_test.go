package messaging

import (
	"strings"
	"testing"
)

func TestOptOutIsHeardInManyLanguagesAndOnlyAsAWholeMessage(t *testing.T) {
	for _, s := range []string{"STOP", "stop", " Stop! ", "S\u200dTOP", "STOP.", "🛑 stop 🛑", "Arrêt", "ARRET", "arre\u0302t", "STOP PUB", "Désabonner", "baja", "SAIR", "Abmelden",
		"СТОП", "İPTAL", "إيقاف", "توقف", "रोकें", "बंद करें", "退订", "停止", "hủy", "Berhenti", "ＳＴＯＰ", "opt-out", "Opt Out"} {
		if !IsOptOut(s) {
			t.Errorf("%q is not heard", s)
		}
	}
	for _, s := range []string{"", " ", "👍", "stop by tomorrow", "don't stop", "bus stop", "Can I cancel my order?", "unstoppable", "yes", "end of month", strings.Repeat("stop ", 100)} {
		if IsOptOut(s) {
			t.Errorf("%q is no opt-out", s)
		}
	}
	o := NewOptOut("No more offers", "")
	if !o.Match("NO MORE OFFERS!") || !o.Match("stop") || o.Match("more offers") || !o.MatchMessage(&Inbound{Text: "Nein danke", ButtonPayload: "no_more_offers"}) || o.MatchMessage(nil) {
		t.Error("the operator's own words")
	}
}

func TestMasksLeaveNothingThatCanBeCalled(t *testing.T) {
	for in, want := range map[string]string{
		"+15555550101": "+1555•••0101", "+221771234567": "+22177•••4567", "15555550101": "1555•••0101", "+1234567": "+•••", "": "•••", "+": "+•••", "+\xff1234567": "+•••",
	} {
		if got := MaskPhone(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	id := "wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA"
	if got := MaskID(id); got != "wamid.•••MDEA" && got != "wamid.•••"+id[len(id)-6:] || RecipientOfID(got) != "" {
		t.Error(got)
	}
	for _, short := range []string{"", "m1", "wamid.HBgLMTU1NTU1NTAx", "155555501011555555010115"} {
		if MaskID(short) != "•••" {
			t.Error(MaskID(short))
		}
	}
	for in, want := range map[string]string{
		"to +1 555 555 0101 now":    "to +1555•••0101 now",
		"order 1234567 of 12":       "order 1234567 of 12",
		"dial tcp 102.20.35.53:443": "dial tcp 102.20.35.53:443",
		"call 234.803.000.0000":     "call 23480•••0000",
		"see " + id + ".":           "see wamid.•••" + id[len(id)-6:] + ".",
		"a\tb\r\nc\u2028d\x9b\x00":  "a b  c d\uFFFD",
	} {
		if got := Scrub(in, 100); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTheRecipientIsReadFromTheMessageID(t *testing.T) {
	for id, want := range map[string]string{
		"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA": "15555550101",
		"wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJDQU1QQUlHTjAwMDAwMD01A":    "15555550101",   // a tail that is no base64
		"wamid.HBgNNTUxNjk5MjMxODIyMhUC":                             "5516992318222", // reliability.md 1.8
		"wamid.HBgNNTUxNjk5MjMxODIy":                                 "",              // cut off
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
			t.Fatalf("%q", got)
		}
		if masked := MaskID(id); RecipientOfID(masked) != "" {
			t.Fatalf("%q still names the recipient", masked)
		}
		IsOptOut(id)
		if s := Scrub(id, 50); len(s) > 50 {
			t.Fatalf("%d bytes", len(s))
		}
	})
}
