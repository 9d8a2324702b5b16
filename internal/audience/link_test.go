package audience

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"campaignd/campaign"
	"campaignd/campaign/file"
	"campaignd/internal/commerce"
	"campaignd/internal/secret"

	"github.com/google/go-cmp/cmp"
)

// linkLedger keeps links. It fails for the orders in broken.
type linkLedger struct {
	mu     sync.Mutex
	links  map[string]string
	broken map[string]bool
}

func (l *linkLedger) PaymentLink(_ context.Context, order, terms string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.links[order+terms], nil
}

func (l *linkLedger) StorePaymentLink(_ context.Context, p campaign.PaymentLink) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken[p.Order] {
		return "", errors.New("the disk is full")
	}
	l.links[p.Order+p.Terms] = p.URL
	return p.URL, nil
}

// till is a shop whose six customers have an unpaid order each. It counts the links of each order.
type till struct {
	*testing.T
	mu    sync.Mutex
	made  map[string]int
	lose  string // the order whose first answer is lost
	query string // the body of the last request for a link
}

func (s *till) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet {
		var orders []string
		for i := range 6 {
			orders = append(orders, fmt.Sprintf(`{"id":"o%d","amount_due":10,"currency":"EUR","created_at":"2026-01-02T03:04:05Z",
				"customer":{"id":"c%[1]d","phone":"%[2]s","metadata":{"consent":"%[3]s"}}}`, i, []string{"+23765000000" + fmt.Sprint(i), ""}[i/5],
				[]string{"yes", "no"}[i/4%2]))
		}
		fmt.Fprintf(w, `{"data":[%s],"links":{"next":null},"meta":{"total":6}}`, strings.Join(orders, ","))
		return
	}
	body, _ := io.ReadAll(r.Body)
	order := strings.Split(r.URL.Path, "/")[4]
	s.query = string(body)
	s.made[order]++
	switch {
	case order == s.lose && s.made[order] == 1:
		w.WriteHeader(http.StatusBadGateway) // of a proxy; the link was made
	case order == "o1":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message":"Payment link could not be generated"}`)
	case order == "o2":
		fmt.Fprint(w, `{"url":"https://other.example/o2"}`)
	default:
		fmt.Fprintf(w, `{"url":"https://pay.example/%s-%d"}`, order, s.made[order])
	}
}

// list makes the list, and returns its links by order.
func (s *till) list(base string, link linker) (map[string]string, error) {
	s.Helper()
	d, err := file.Parse("c.yaml", []byte(`name: a
connections: [conn_1]
template: {name: pay_now, language: en, buttons: [{type: url, text: "{{ .pay }}"}]}
audience:
  from: unpaid_orders
  consent: {field: metadata.consent, values: ["yes"]}
  payment_link: {variable: pay, strip: "https://pay.example/", success_url: "https://shop.example/thanks"}
`))
	if err != nil {
		s.Fatal(err)
	}
	client, err := commerce.New(commerce.Options{BaseURL: base, Company: "acme", APIKey: secret.New("key"), Rate: 1000})
	if err != nil {
		s.Fatal(err)
	}
	defer client.Close()
	path := filepath.Join(s.TempDir(), "list.csv")
	if _, err := write(s.Context(), client, d, path, nil, link); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		s.Fatal(err)
	}
	links := map[string]string{}
	for _, r := range rows[1:] {
		links[r[9]] = r[13]
	}
	return links, nil
}

// One link of each order is stored, also if the list cannot be made to its end. Only a link whose
// answer was lost, or that could not be stored, is made again.
func TestEachOrderHasOnePaymentLink(t *testing.T) {
	s := &till{T: t, made: map[string]int{}, lose: "o0"}
	server := httptest.NewServer(s)
	defer server.Close()
	ledger := &linkLedger{links: map[string]string{}, broken: map[string]bool{"o3": true}}
	link := stored(ledger, &file.PaymentLink{SuccessURL: "https://shop.example/thanks"})
	if _, err := s.list(server.URL, link); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v, want the fault of the ledger", err)
	}
	ledger.broken = nil
	for range 2 {
		links, err := s.list(server.URL, link)
		if err != nil {
			t.Fatalf("got %v, want a list", err)
		}
		// o4 has no consent and o5 no phone, so nobody would get their links.
		want := map[string]string{"o0": "https://pay.example/o0-2", "o1": "", "o2": "https://other.example/o2", "o3": "https://pay.example/o3-2",
			"o4": "", "o5": ""}
		if diff := cmp.Diff(want, links); diff != "" {
			t.Errorf("links -want +got:\n%s", diff)
		}
	}
	if s.made["o0"] != 2 || s.made["o2"] != 1 || s.made["o3"] != 2 || s.made["o4"]+s.made["o5"] != 0 {
		t.Errorf("got %v links made, want o0 2 (an answer was lost), o2 1, o3 2 (not stored) and o4, o5 none", s.made)
	}
	if want := `{"success_url":"https://shop.example/thanks"}`; s.query != want {
		t.Errorf("got the request %s, want %s", s.query, want)
	}
}

// A check makes no link, and a list that is kept has none.
func TestACheckMakesNoPaymentLink(t *testing.T) {
	s := &till{T: t, made: map[string]int{}}
	server := httptest.NewServer(s)
	defer server.Close()
	for _, c := range []struct {
		link linker
		want string
	}{{noLink, ""}, {example(&file.PaymentLink{Strip: "https://pay.example/"}), "https://pay.example/EXAMPLE"}} {
		links, err := s.list(server.URL, c.link)
		if err != nil || links["o0"] != c.want || len(s.made) != 0 {
			t.Errorf("got %v, %v and %v links made; want %q in o0 and none made", links, err, s.made, c.want)
		}
	}
}
