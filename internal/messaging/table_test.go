package messaging

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryPlatformCodeHasARow(t *testing.T) {
	for code, r := range platformRows {
		if r.Action == 0 || r.Sentence == "" {
			t.Errorf("%d has the row %+v, want one with an action and a sentence", code, r)
		}
		if got := Sentence(strconv.Itoa(code)); got != r.Sentence {
			t.Errorf("Sentence(%d) = %q, want %q", code, got, r.Sentence)
		}
		if got, want := Failed(code), (Failure{r.Feed, r.Hold, r.Wait, r.EndedBy, r.Sentence, r.Action == Slow}); got != want {
			t.Errorf("Failed(%d) = %+v, want %+v: a late refusal means what an early one does", code, got, want)
		}
		if strings.HasSuffix(r.Sentence, ".") {
			t.Errorf("%d: %q, want no full stop", code, r.Sentence)
		}
		if r.Wait > 0 && r.Action == Refuse {
			t.Errorf("%d: refused for good after %v, want no wait", code, r.Wait)
		}
		holds := r.Hold != HoldNothing && r.Hold != HoldPayload
		if holds && r.Action != RetryLater && r.Action != Slow {
			t.Errorf("%d: %s although the sender is at fault, want retry_later or slow", code, r.Action.word())
		}
		if holds != (r.EndedBy != EndedByNothing) || (r.EndedBy == EndedByTime) != (r.Wait > 0) {
			t.Errorf("%d: hold %s, ended by %s, wait %v; want every hold to end, and by time exactly with a wait",
				code, r.Hold.word(), r.EndedBy.word(), r.Wait)
		}
	}
}

// The service may answer with a word that this package gives another meaning.
func TestAnAnswerHasNoCodeOfOurOwn(t *testing.T) {
	var c Reading
	for code := range ownRows {
		a := Answer{Status: 400, Header: http.Header{}, Body: []byte(`{"error":"` + code + `"}`)}
		if e := c.Refusal(&a, Secret{}); e.Code != "http_400" || e.Action != RefuseForNow || !e.Proven() {
			t.Errorf("%s: got %s, %s, proven %t; want http_400, refuse_for_now, proven", code, e.Code, e.Action.word(), e.Proven())
		}
	}
	a := Answer{Status: 302, Header: http.Header{}}
	if e := c.Refusal(&a, Secret{}); e.Code != codeRedirect || e.Proven() {
		t.Errorf("a redirect: got %s, proven %t; want redirect, not proven", e.Code, e.Proven())
	}
}

// Throttling never counts as a try.
func TestThrottlingCodesCountNoTry(t *testing.T) {
	for code, want := range map[int]Action{4: Slow, 80007: Slow, 130429: Slow, 131056: WaitPair, 131057: RetryLater, 133016: Slow} {
		if r, _ := platformRow(code); r.Action != want {
			t.Errorf("%d: %s, want %s", code, r.Action.word(), want.word())
		}
	}
}

func TestFailedStatusesFeedTheSuppressions(t *testing.T) {
	for code, want := range map[int]Feed{131050: FeedOptOut, 131026: FeedUnreachable, 131049: FeedNothing, 424242: FeedNothing} {
		if got := Failed(code).Feed; got != want {
			t.Errorf("Failed(%d).Feed = %s, want %s", code, got.word(), want.word())
		}
	}
	if got, want := Failed(424242), (Failure{Sentence: "the platform refused with a code that is not in its table"}); got != want {
		t.Errorf("Failed(424242) = %+v, want %+v", got, want)
	}
}

// classified is the Error of a refusal.
func classified(status int, header http.Header, body string) *Error {
	if header == nil {
		header = http.Header{}
	}
	return new(Reading).Refusal(&Answer{Status: status, Header: header, Body: []byte(body)}, NewSecret("key_1"))
}

func TestTheOrderOfADecision(t *testing.T) {
	meta := func(code, class, retryable string, platform int) string {
		return fmt.Sprintf(`{"error":%q,"message":"m","meta":{"errorClass":%q,"retryable":%s,"code":%d}}`, code, class, retryable, platform)
	}
	for _, test := range []struct {
		name   string
		status int
		body   string
		proof  Proof
		action Action
		hold   Hold
	}{
		{"the status comes before every code", 500, meta("send_recipient_permanent", "recipient_permanent", "false", 131026), Doubt, 0, 0},
		{"408 too", 408, meta("send_retryable", "retryable", "true", 130429), Doubt, 0, 0},
		{"meta.code before the class", 400, meta("send_retryable", "retryable", "true", 131026), NotSent, Refuse, 0},
		{"meta.code 0 is a code", 400, meta("send_policy", "policy", "false", 0), NotSent, RetryLater, HoldConnection},
		{"meta.code before 429", 429, meta("send_retryable", "retryable", "true", 131056), NotSent, WaitPair, 0},
		{"429 with an unknown code slows down", 429, meta("send_retryable", "retryable", "true", 777), NotSent, Slow, 0},
		{"meta.retryable before an unknown class", 400, meta("send_new", "new", "true", 777), NotSent, RefuseForNow, HoldPayload},
		{"meta.retryable before a class that refuses", 400, meta("send_needs_template", "needs_template", "true", 777), NotSent, RetryOnce, 0},
		{"it does not lift a hold", 400, meta("send_template", "template", "true", 777), NotSent, RetryLater, HoldTemplate},
		{"the class where the code is unknown", 400, meta("refused", "recipient_permanent", "false", 777), NotSent, Refuse, 0},
		{"an unknown class may be everybody's", 400, meta("send_new", "new", "false", 777), NotSent, RefuseForNow, HoldPayload},
		{"send_media gets one more try", 400, `{"error":"send_media","message":""}`, NotSent, RetryOnce, HoldPayload},
		{"the platform's own object", 400, `{"error":{"message":"(#131026) x","code":131026,"fbtrace_id":"A1"}}`, NotSent, Refuse, 0},
		{"a code in a string", 400, `{"error":"send_x","meta":{"code":"130429"}}`, NotSent, Slow, 0},
		{"an unknown 400", 400, `{"error":"bad_request"}`, NotSent, RefuseForNow, HoldPayload},
		{"an unknown code of the platform", 400, `{"error":{"code":131061}}`, NotSent, RefuseForNow, HoldPayload},
		{"a code with a known subcode", 400, `{"error":{"code":100,"error_subcode":33}}`, NotSent, RetryLater, HoldConnection},
		{"a wrong proof of the app's secret", 400, `{"error":{"message":"Invalid appsecret_proof provided in the API argument",` +
			`"type":"GraphMethodException","code":100}}`, NotSent, RetryLater, HoldAccount},
		{"no proof of the app's secret", 400, `{"error":{"message":"API calls from the server require an appsecret_proof argument",` +
			`"type":"GraphMethodException","code":100}}`, NotSent, RetryLater, HoldAccount},
		{"a code with another subcode", 400, `{"error":{"code":100,"error_subcode":34}}`, NotSent, Refuse, HoldPayload},
		{"an unknown 402", 402, `{"error":"subscription_ended"}`, NotSent, RetryLater, HoldCompany},
		{"an unknown 403", 403, `{"error":"forbidden"}`, NotSent, RetryUnknown, 0},
		{"a 403 that is not JSON", 403, `<html>Access denied</html>`, NotSent, RetryUnknown, 0},
		{"a 400 that is not JSON", 400, `<html>Bad request</html>`, NotSent, RetryUnknown, 0},
		{"a 404 that is not JSON", 404, `not found`, NotSent, RetryUnknown, 0},
		{"a 401 without a body", 401, ``, NotSent, RetryLater, HoldKey},
		{"a 401 of a firewall", 401, `<html>`, NotSent, RetryLater, HoldKey},
		{"a word that is a code of our own", 400, `{"error":"time_out"}`, NotSent, RefuseForNow, HoldPayload},
		{"another one", 403, `{"error":"cdn_1010"}`, NotSent, RetryUnknown, 0},
		{"too large", 413, ``, NotSent, Refuse, HoldPayload},
		{"beyond the known classes", 777, ``, Doubt, 0, 0},
		{"switching protocols", 101, ``, Doubt, 0, 0},
	} {
		e := classified(test.status, nil, test.body)
		if e.Proof != test.proof || e.Action != test.action || e.Hold != test.hold {
			t.Errorf("%s: %s %s %s, want %s %s %s",
				test.name, e.Proof.word(), e.Action.word(), e.Hold.word(), test.proof.word(), test.action.word(), test.hold.word())
		}
	}
}

func TestTheReasonIsTheCodeThatDecided(t *testing.T) {
	for _, c := range []struct {
		status     int
		body, want string
	}{
		{400, `{"error":"send_account","meta":{"errorClass":"account","code":131042}}`, "131042"},
		{400, `{"error":"send_policy","meta":{"code":0}}`, "0"},
		{400, `{"error":"send_template","meta":{"errorClass":"template","code":777}}`, "send_template"},
		{400, `{"error":"refused","meta":{"errorClass":"template","code":777}}`, "send_template"},
		{403, `{"error":"account_deactivated"}`, "account_deactivated"}, {402, `{"error":"sold_out"}`, "http_402"},
		{401, `{"error":"unauthorized"}`, "http_401"}, {401, `<html>`, "http_401"}, {403, `<html>`, "http_403"},
		{429, `{"error":"calm"}`, "http_429"}, {403, `error code: 1010`, "cdn_1010"}, {308, ``, "redirect"},
	} {
		e := classified(c.status, nil, c.body)
		if got := e.Reason(); got != c.want || strings.HasSuffix(Sentence(got), "not in its document") {
			t.Errorf("%d %s: reason %q (%s), want %q with a sentence", c.status, c.body, got, Sentence(got), c.want)
		}
	}
	if got := (&Error{Platform: 131042, Code: "send_account"}).Reason(); got != "131042" {
		t.Errorf("an error made elsewhere: reason %q, want 131042", got)
	}
}

// A code without a row of its own also has a sentence.
func TestNoCodeIsWithoutASentence(t *testing.T) {
	for code, want := range map[string]string{
		"send_policy": "the platform refused the message",
		"sold_out":    "the service refused with a code that is not in its document",
		"":            "the service refused with a code that is not in its document",
		"250":         "a platform permission is missing or was removed",
		"199":         "the platform refused with a code that is not in its table",
		"http_502":    "the service or a proxy in front of it failed; the message may have been sent",
		"http_408":    "the service or a proxy in front of it failed; the message may have been sent",
		"http_429":    "the service's rate limit is reached",
		"http_403":    "an answer that the service's document does not name; it may come from a firewall or a proxy in front of the service",
		"http_401":    "the API key is not valid",
		"http_x":      "the service refused with a code that is not in its document",
	} {
		if got := Sentence(code); got != want {
			t.Errorf("Sentence(%q) = %q, want %q", code, got, want)
		}
	}
}

// The service gives an expired or unknown asset the code of an unknown connection
// (docs/service.md#errors). The asset of one campaign must not pause every run on the number. For a
// message without an asset the code can only mean the connection.
func TestAnAssetThatIsGoneIsTheMessagesFault(t *testing.T) {
	stored, elsewhere := &Media{AssetID: "ast_old"}, &Media{Link: "https://shop.example/a"}
	document := func(m *Media) *Document { return &Document{Media: *m} }
	header := func(h Header) *Message { return &Message{Template: &Template{Header: &h}} }
	for name, c := range map[string]struct {
		m    *Message
		hold Hold
	}{
		"image header":          {header(Header{Image: stored}), HoldPayload},
		"video header":          {header(Header{Video: stored}), HoldPayload},
		"document header":       {header(Header{Document: document(stored)}), HoldPayload},
		"header that is a link": {header(Header{Image: elsewhere, Document: document(elsewhere)}), HoldConnection},
		"no header":             {&Message{Template: &Template{}}, HoldConnection},
		"no template":           {&Message{}, HoldConnection},
	} {
		e := classified(404, nil, `{"error":"connection_not_found","message":"No such connection."}`)
		e.Blame(c.m)
		want := RetryLater
		if c.hold == HoldPayload {
			want = RetryOnce
		}
		if e.Hold != c.hold || e.Action != want || e.Proof != NotSent || e.Code != "connection_not_found" {
			t.Errorf("%s: %s %s %s %s, want not_sent %s %s connection_not_found",
				name, e.Proof.word(), e.Action.word(), e.Hold.word(), e.Code, want.word(), c.hold.word())
		}
	}
	for _, e := range []*Error{classified(503, nil, `{"error":"connection_not_found"}`),
		classified(403, nil, `{"error":"account_deactivated"}`)} {
		before := *e
		if e.Blame(header(Header{Image: stored})); !reflect.DeepEqual(*e, before) {
			t.Errorf("blame made %+v, want it unchanged: %+v", *e, before)
		}
	}
}

func TestEveryStatusIsDecided(t *testing.T) {
	for status := 100; status < 1000; status++ {
		if status/100 == 2 {
			continue
		}
		for _, body := range []string{"", "x", "{}", `{"error":"new","message":"m"}`, `[]`, `{"error":null,"meta":null}`} {
			e := classified(status, nil, body)
			doubt := status < 200 || status >= 500 || status == 408 || status == 409 || status == 499
			if (e.Proof == Doubt) != doubt || (e.Proof == NotSent) == (e.Action == 0) || e.Code == "" || Sentence(e.Code) == "" {
				t.Fatalf("%d %q: %s %s, code %q; want doubt = %t, an action exactly when not sent, a code with a sentence",
					status, body, e.Proof.word(), e.Action.word(), e.Code, doubt)
			}
		}
	}
}

func TestRetryAfterIsHonouredWithinADay(t *testing.T) {
	for in, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, " 0.5 ": time.Second / 2, "-1": 0, "0": 0, "NaN": 0,
		"86399": 24*time.Hour - time.Second, "86401": 24 * time.Hour, "1e300": 24 * time.Hour, "1e400": 24 * time.Hour, "soon": 0} {
		if got := RetryAfter(http.Header{"Retry-After": {in}}); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) { // the bubble's clock begins on a whole second
		for ahead, want := range map[time.Duration]time.Duration{
			time.Hour: time.Hour, -time.Hour: 0, 24 * time.Hour: 24 * time.Hour, 24*time.Hour + time.Second: 24 * time.Hour,
		} {
			at := time.Now().Add(ahead).UTC().Format(http.TimeFormat)
			if got := RetryAfter(http.Header{"Retry-After": {at}}); got != want {
				t.Errorf("%v ahead: %v, want %v", ahead, got, want)
			}
		}
	})
}

func TestProseOfARefusalIsSafeToShow(t *testing.T) {
	e := classified(400, nil, `{"error":"send_x y","message":"No route to +1 555-555-0101 for key_1 `+
		`\u001b[31m(wamid.HBgLMTU1NTU1NTAxMDEVAgARGBJXSVJFMDAwMDAwMDAwMDAwMDEA)\n`+strings.Repeat("é", 400)+`"}`)
	s := e.Error()
	for _, bad := range []string{"5550101", "555-0101", "key_1", "\x1b", "\n", "HBgLMTU1NTU1NTAxMDE", "send_x y"} {
		if strings.Contains(s, bad) {
			t.Errorf("got %q, want it without %q", s, bad)
		}
	}
	if len(e.Message) > 600 || !strings.Contains(e.Message, "No route to") {
		t.Errorf("got %d bytes: %q; want at most 600, with the prose", len(e.Message), e.Message)
	}
}

// A refused template has code 100 whatever its fault: the subcode, the title and the message of the
// answer say which (the platform's error page, and its public reports of template refusals).
func TestARefusalSaysWhatThePlatformSays(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"error":{"message":"Invalid parameter","type":"OAuthException","code":100,"error_subcode":2388024,"is_transient":false,` +
			`"error_user_title":"Content in this language already exists","error_user_msg":"There is already English (US) content for this ` +
			`template. You can create a new template and try again.","fbtrace_id":"A1"}}`,
			"Invalid parameter (subcode 2388024): Content in this language already exists: There is already English (US) content for this " +
				"template. You can create a new template and try again."},
		{`{"error":{"message":"Invalid parameter","code":100,"error_subcode":2388299,"error_user_title":"Leading or trailing params",` +
			`"error_user_msg":"Variables can't be at the start or end of the template."}}`,
			"Invalid parameter (subcode 2388299): Leading or trailing params: Variables can't be at the start or end of the template."},
		{`{"error":{"message":"(#132012) Parameter format does not match format in the created template","code":132012,` +
			`"error_data":{"messaging_product":"whatsapp","details":"header: Format mismatch, expected IMAGE, received UNKNOWN"}}}`,
			"(#132012) Parameter format does not match format in the created template: header: Format mismatch, expected IMAGE, received UNKNOWN"},
		{`{"error":{"message":"(#100) x","code":100,"error_data":{"details":"x"},"error_user_title":"x"}}`, "(#100) x"},
		{`{"error":{"message":"Object with ID '300000000000001' or 4915146710000 does not exist","code":100,"error_data":{"details":7}}}`,
			"Object with ID '300000000000001' or 49151•••0000 does not exist"},
		{`{"error":{"code":100,"error_user_msg":"` + strings.Repeat("long ", 99) + `","error_data":{"details":"short"}}}`,
			"short: " + strings.TrimSpace(strings.Repeat("long ", 40))},
	} {
		reading := Reading{CodeDecides: true, IDs: []string{"300000000000001"}}
		e := reading.refusal(&Answer{Status: 400, Header: http.Header{}, Body: []byte(tt.body)}, "")
		if e.Message != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.body, e.Message, tt.want)
		}
	}
}

// A refusal whose body is cut is still a refusal, without a known reason.
func TestACutRefusalIsTriedOnceMore(t *testing.T) {
	var none Reading
	for status, want := range map[int]Action{400: RetryOnce, 403: RetryOnce, 404: RetryOnce, 401: RetryLater, 402: RetryLater, 429: Slow} {
		e := none.refusal(&Answer{Status: status, Header: http.Header{}, Body: []byte(`{"error":"x`), Err: io.ErrUnexpectedEOF}, "")
		if e.Proof != NotSent || e.Action != want {
			t.Errorf("%d, cut: %s %s, want not_sent %s", status, e.Proof.word(), e.Action.word(), want.word())
		}
	}
	e := none.refusal(&Answer{Status: 400, Header: http.Header{}, Body: []byte(`{"error":"send_media"}`), Err: io.ErrUnexpectedEOF}, "")
	if e.Code != "send_media" || e.Hold != HoldPayload {
		t.Errorf("got %s %s of a whole reason before the cut, want send_media payload", e.Code, e.Hold.word())
	}
}
