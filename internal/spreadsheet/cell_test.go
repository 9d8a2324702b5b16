package spreadsheet

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The triggers of https://owasp.org/www-community/attacks/CSV_Injection get an apostrophe; text and
// numbers stay unchanged.
func TestEscapeDefusesFormulasAndKeepsNumbers(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"Ada":                                "Ada",
		"a=1":                                "a=1",
		" =1":                                "' =1",
		"  @a":                               "'  @a",
		"\u00a0=1":                           "'\u00a0=1",
		"\ufeff=1":                           "'\ufeff=1",
		"\u200b\u2060=1":                     "'\u200b\u2060=1",
		"\v=1":                               "'\v=1",
		" -5":                                " -5",
		"\u00a0+2348012345678":               "\u00a0+2348012345678",
		" +1 555":                            "' +1 555",
		" ＝1":                                "' ＝1",
		"x; =1":                              "x;' =1",
		"x,\u00a0=1":                         "x,'\u00a0=1",
		"x;\" =1":                            "x;'\" =1",
		"one\r\n =2":                         "one\r\n' =2",
		" \n":                                "' \n",
		" Ada":                               " Ada",
		"\u00a0":                             "\u00a0",
		" ":                                  " ",
		"'=1":                                "'=1",
		"-5":                                 "-5",
		"+5":                                 "+5",
		"-0.25":                              "-0.25",
		"+.5":                                "+.5",
		"-5.":                                "-5.",
		"+9":                                 "+9",
		"-90":                                "-90",
		"+0:":                                "'+0:",
		"+/1":                                "'+/1",
		"+2348012345678":                     "+2348012345678",
		"+":                                  "'+",
		"-":                                  "'-",
		"-.":                                 "'-.",
		"+1.2.3":                             "'+1.2.3",
		"+1 555":                             "'+1 555",
		"-1+1":                               "'-1+1",
		"--5":                                "'--5",
		"-5e3":                               "'-5e3",
		"+١٢":                                "'+١٢",
		"=1+1":                               "'=1+1",
		"=5":                                 "'=5",
		"@SUM(1+9)*cmd|' /C calc'!A0":        "'@SUM(1+9)*cmd|' /C calc'!A0",
		"=cmd|' /C calc'!A0":                 "'=cmd|' /C calc'!A0",
		`=HYPERLINK("http://x.example","a")`: `'=HYPERLINK("http://x.example","a")`,
		"\t=1":                               "'\t'=1",
		"\r=1":                               "'\r'=1",
		"\n=1":                               "'\n'=1",
		"x;=cmd|' /C calc'!A0":               "x;'=cmd|' /C calc'!A0",
		"x,=1;@a|-b\t＋c":                     "x,'=1;'@a|'-b\t'＋c",
		`x;"=1`:                              `x;'"=1`,
		"one\r\n=2":                          "one\r\n'=2",
		"one\r\n\r\n\ttwo":                   "one\r\n\r\n\ttwo",
		"+1;+2348012345678,-5":               "'+1;'+2348012345678,-5",
		"a;+2348012345678;-5":                "a;+2348012345678;-5",
		"=1;=2":                              "'=1;'=2",
		"a, -5 off; @home":                   "a, -5 off; @home",
		"＝1+1":                               "'＝1+1",
		"＋1":                                 "'＋1",
		"－1":                                 "'－1",
		"＠x":                                 "'＠x",
		"ä=1":                                "ä=1",
		"\xef":                               "\xef",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
		if in != "'=1" {
			if got := Unescape(want); got != in {
				t.Errorf("Unescape(%q) = %q, want %q", want, got, in)
			}
		}
	}
}

// cells draws values with many triggers, signs and digits.
func cells() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`['=+\-@\t\r\n＝＋－＠]{0,3}[0-9.]{0,4}.{0,3}`),
		rapid.StringMatching(`([a1'"=+\-@;,|\t\r\n＝]{0,4}[0-9.]{0,2}){0,3}`),
		rapid.StringMatching(`([ \x{a0}\x{feff}\x{200b}]{0,2}['=+@-]{0,2}[0-9a;,\n]{0,2}){0,3}`),
		rapid.StringMatching(`[+-]?[0-9]{0,3}\.?[0-9]{0,3}`),
	)
}

func TestAnExportedCellIsNoFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := cells().Draw(t, "cell")
		out := Escape(in)
		// Programs take spaces and what nobody sees off the begin of a cell.
		seen := strings.TrimLeft(out, " \u00a0\u3000\ufeff\u200b\u2060\u202a\v")
		if first, _ := utf8.DecodeRuneInString(seen); seen != "" {
			switch first {
			case '=', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
				t.Fatalf("Escape(%q) = %q, want no trigger at its beginning", in, out)
			case '+', '-':
				digits, points := 0, 0
				for _, r := range seen[1:] {
					switch {
					case r >= '0' && r <= '9':
						digits++
					case r == '.':
						points++
					default:
						t.Fatalf("Escape(%q) = %q, want a number after the sign", in, out)
					}
				}
				if digits == 0 || points > 1 {
					t.Fatalf("Escape(%q) = %q, want a number after the sign", in, out)
				}
			}
		}
		if Escape(out) != out {
			t.Fatalf("Escape(%q) = %q, and Cell of that = %q, want the same", in, out, Escape(out))
		}
		for _, by := range ",;|\t\r\n" {
			for n, part := range strings.Split(out, string(by)) {
				part = strings.TrimLeft(part, `"`)
				if n > 0 && strings.HasPrefix(strings.TrimLeft(part, " \u00a0\ufeff\u200b"), "=") {
					t.Fatalf("Escape(%q) = %q, want no formula behind %q and blanks", in, out, by)
				}
				if first, _ := utf8.DecodeRuneInString(part); n > 0 && strings.ContainsRune("=@＝＋－＠", first) {
					t.Fatalf("Escape(%q) = %q, want no formula behind %q", in, out, by)
				}
			}
		}
		if ambiguous := Unescape(in) != in; !ambiguous && Unescape(out) != in {
			t.Fatalf("Unescape(%q) = %q, want %q", out, Unescape(out), in)
		}
	})
}
