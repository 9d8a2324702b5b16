package cloud

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"campaignd/internal/messaging"
)

// A template with two of each kind of button: each value goes into the button of its own place.
func TestEachValueFillsItsOwnButton(t *testing.T) {
	record := &messaging.TemplateRecord{Components: []messaging.Component{{Type: "BODY", Text: "Hi {{name}}, {{day}}"},
		{Type: "BUTTONS", Buttons: []messaging.ComponentButton{{Type: "URL", URL: "https://shop.example/plain"}, {Type: "QUICK_REPLY"},
			{Type: "URL", URL: "https://shop.example/{{1}}"}, {Type: "PHONE_NUMBER"}, {Type: "QUICK_REPLY"},
			{Type: "URL", URL: "https://other.example/{{1}}"}, {Type: "COPY_CODE"}}}}}
	message := &messaging.Message{To: "+237650000001", Template: &messaging.Template{Name: "sale", Language: "en", Body: []string{"Ama",
		"Monday"},
		Buttons: []messaging.TemplateButton{{Type: "url", Text: "first"}, {Type: "quick_reply", Text: "yes"}, {Type: "url", Text: "second"},
			{Type: "quick_reply", Text: "no"}, {Type: "copy_code", Text: "TEN"}}}}
	text, err := encode(message, record)
	if err != nil {
		t.Fatalf("got %v, want no error", err)
	}
	var out outgoing
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range out.Template.Components {
		for _, p := range c.Parameters {
			got = append(got, strings.Join([]string{c.Type, c.SubType, c.Index, p.Name, p.Text + p.Payload + p.CouponCode}, " "))
		}
	}
	want := []string{"body   name Ama", "body   day Monday", "button url 2  first", "button quick_reply 1  yes", "button url 5  second",
		"button quick_reply 4  no", "button copy_code 6  TEN"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	message.Template.Buttons = append(message.Template.Buttons, messaging.TemplateButton{Type: "url", Text: "third"})
	if _, err := encode(message, record); err == nil {
		t.Error("a third URL: got no error, want one, because the template has two with a variable")
	}
}

func TestAMediumIsNamedByItsAsset(t *testing.T) {
	for _, c := range []struct {
		media messaging.Media
		want  mediaRef
	}{
		{messaging.Media{AssetID: "1", ID: "2"}, mediaRef{ID: "1", Filename: "f.pdf"}},
		{messaging.Media{ID: "2"}, mediaRef{ID: "2", Filename: "f.pdf"}},
		{messaging.Media{Link: "https://shop.example/f.pdf"}, mediaRef{Link: "https://shop.example/f.pdf", Filename: "f.pdf"}},
	} {
		if got := *refOf(&c.media, "f.pdf"); got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.media, got, c.want)
		}
	}
}

// A template in an answer has each of its members, or the answer is none.
func TestATemplateWithoutAMemberIsNoAnswer(t *testing.T) {
	whole := map[string]string{"id": "300", "name": "sale", "language": "en_US", "status": "APPROVED", "category": "MARKETING"}
	for _, missing := range []string{"", "name", "language", "status", "id"} {
		record := map[string]string{}
		for name, value := range whole {
			if name != missing {
				record[name] = value
			}
		}
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		client := serverClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/phone_numbers"):
				io.WriteString(w, `{"data":[{"id":"`+ownNumber+`","display_phone_number":"+1 555 0100"}]}`)
			case r.Method == http.MethodPost:
				w.Write(text)
			default:
				io.WriteString(w, `{"data":[`+string(text)+`]}`)
			}
		}), Account{ID: ownAccount, Token: messaging.NewSecret("cloud_token_0123456789")})
		_, err = client.Templates(t.Context(), ownNumber)
		if wants := missing == "name" || missing == "language" || missing == "status"; (err != nil) != wants {
			t.Errorf("a listing without %q: got %v, want an error: %v", missing, err, wants)
		}
		_, err = client.CreateTemplate(t.Context(), ownNumber, messaging.TemplateRecord{Name: "sale", Language: "en_US"}, "")
		if wants := missing == "id" || missing == "status"; (err != nil) != wants {
			t.Errorf("a new template without %q: got %v, want an error: %v", missing, err, wants)
		}
	}
}

// Languages of one name are templates of their own.
func TestASyncCountsEachLanguage(t *testing.T) {
	listing := `{"id":"1","name":"sale","language":"en_US","status":"APPROVED"},{"id":"2","name":"sale","language":"fr","status":"APPROVED"}`
	client := serverClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/phone_numbers") {
			io.WriteString(w, `{"data":[{"id":"`+ownNumber+`","display_phone_number":"+1 555 0100"}]}`)
			return
		}
		io.WriteString(w, `{"data":[`+listing+`]}`)
	}), Account{ID: ownAccount, Token: messaging.NewSecret("cloud_token_0123456789")})
	for _, c := range []struct {
		listing string
		want    TemplateSync
	}{
		{listing, TemplateSync{Added: 2}}, {listing, TemplateSync{}},
		{strings.Replace(listing, `"fr","status":"APPROVED"`, `"fr","status":"PAUSED"`, 1), TemplateSync{Updated: 1}},
		{`{"id":"3","name":"sale","language":"de","status":"APPROVED"},` + strings.Split(listing, "},")[0] + "}", TemplateSync{Added: 1,
			Removed: 1}},
	} {
		listing = c.listing
		if got, err := client.SyncTemplates(t.Context(), ownNumber); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", c.listing, got, err, c.want)
		}
	}
}

// The numbers of an older listing, whose answer comes after that of a newer one, change nothing.
func TestAnOlderListingTeachesNothing(t *testing.T) {
	client := serverClient(t, http.NotFoundHandler(), Account{ID: ownAccount, Token: messaging.NewSecret("cloud_token_0123456789")})
	now := time.Now()
	of := func(id string) []*line {
		return []*line{{id: id, number: messaging.Number{ConnectionID: "c" + id, Phone: "+1555010" + id}}}
	}
	client.learn(ownAccount, of("1"), now)
	client.learn(ownAccount, of("2"), now.Add(-time.Second))
	client.learn("another", of("3"), now.Add(-time.Second))
	for id, want := range map[string]Standing{"1": Own, "3": Others} {
		if _, got := client.standing([]string{ownAccount}, id, ""); got != want {
			t.Errorf("number %s: got %v, want %v", id, got, want)
		}
	}
	if got := strings.Join(client.Owned(), " "); got != "c1 c3" {
		t.Errorf("got the connections %q, want those of the two newest listings", got)
	}
}

func TestABodyOfAnySizeIsNotDecoded(t *testing.T) {
	body := []byte(`{"object":"page"}` + strings.Repeat(" ", messaging.MaxBody))
	for n, want := range map[int]error{messaging.MaxBody: nil, messaging.MaxBody + 1: messaging.ErrBodyTooLarge} {
		_, err := DecodeEvents(body[:n], messaging.OptOut{}, func(string) bool { return true }, nil)
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: got %v, want %v", n, err, want)
		}
	}
}

// The platform tells where an upload goes on; what cannot be such a place ends it, and so does a
// refusal.
func TestAnUploadEndsAtARefusalAndAtAnOddOffset(t *testing.T) {
	for name, c := range map[string]struct {
		status int // of the first part; 0: the connection is closed
		offset string
		posts  int
		ok     bool
	}{
		"taken":           {200, "", 1, true},
		"refused":         {400, "0", 1, false},
		"closed, goes on": {0, "2", 2, true},
		"behind the end":  {0, "9", 1, false},
		"negative":        {0, "-1", 1, false},
		"a text":          {0, `"x"`, 1, false},
	} {
		posts := 0
		client := serverClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			switch {
			case strings.HasSuffix(r.URL.Path, "/phone_numbers"):
				io.WriteString(w, `{"data":[{"id":"`+ownNumber+`","display_phone_number":"+1 555 0100"}]}`)
			case strings.HasSuffix(r.URL.Path, "/uploads"):
				io.WriteString(w, `{"id":"upload:abc"}`)
			case r.Method == http.MethodGet:
				io.WriteString(w, `{"file_offset":`+c.offset+`}`)
			default:
				if kind := r.Header.Get("Content-Type"); kind != "application/octet-stream" {
					t.Errorf("%s: got the type %q, want application/octet-stream", name, kind)
				}
				if posts++; posts == 1 && c.status == 0 {
					panic(http.ErrAbortHandler)
				}
				if want := map[int]string{1: "picture", 2: "cture"}[posts]; string(body) != want {
					t.Errorf("%s: part %d: got %q, want %q", name, posts, body, want)
				}
				if posts == 1 && c.status != 200 {
					w.WriteHeader(c.status)
					io.WriteString(w, `{"error":{"code":100}}`)
					return
				}
				io.WriteString(w, `{"h":"handle"}`)
			}
		}), Account{ID: ownAccount, App: "100000000000001", Token: messaging.NewSecret("cloud_token_0123456789")})
		handle, err := client.UploadHeader(t.Context(), ownNumber, "a.jpg", "image/jpeg", strings.NewReader("picture"))
		if (err == nil) != c.ok || c.ok && handle != "handle" || posts != c.posts {
			t.Errorf("%s: got %q, %v after %d parts; want success %v after %d", name, handle, err, posts, c.ok, c.posts)
		}
	}
}
