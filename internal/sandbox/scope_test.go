package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"campaignd/internal/operations"
)

// offered returns the operations of the table. Each must have a handler.
func offered(t *testing.T) []operations.Operation {
	t.Helper()
	s := twoClients(t)
	for _, o := range operations.All {
		if p, _ := s.routes.find(o.At("x")); p == nil || p.methods[o.Method] == nil {
			t.Errorf("%s: got no handler, want one", o.Name)
		}
	}
	return operations.All
}

// askRow asks one operation about a connection, with a key, and returns status and error.
func askRow(t *testing.T, s *Sandbox, o operations.Operation, key, conn string) (int, string) {
	t.Helper()
	path, body, contentType := o.At("unknown_id"), "", "application/json"
	switch {
	case o.Name == "media":
		body = multipartOf([2]string{`name="connectionId"`, conn}, [2]string{`name="file"; filename="f.png"`, png})
		contentType = "multipart/form-data; boundary=b"
	case o.Method == http.MethodGet, o.Method == http.MethodDelete:
		if o.Scope == operations.Connection || strings.HasPrefix(o.Request, "C") {
			path += "?connectionId=" + conn
		}
	case o.Name == "messages":
		body = strings.Replace(order, "conn_1", conn, 1)
	case o.Scope == operations.Connection:
		body = `{"connectionId":"` + conn + `"}`
	default:
		body = "{}"
	}
	res := call(t, s, o.Method, path, key, body, "Content-Type", contentType)
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	var e struct{ Error string }
	if res.StatusCode != http.StatusNoContent {
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Errorf("%s: got %d %.200s, want JSON", o.Name, res.StatusCode, raw)
		}
	}
	return res.StatusCode, e.Error
}

// The rules of docs/service.md#authentication hold for every row of the table of operations.
func TestTheScopeOfEveryOperationIsItsKeys(t *testing.T) {
	for _, o := range offered(t) {
		t.Run(o.Name, func(t *testing.T) {
			s := twoClients(t, func(opt *Options) {
				opt.Keys = append(opt.Keys, Key{Token: "suspended", Company: "co_s"})
				opt.Connections = append(opt.Connections, Connection{ID: "conn_s", Phone: "+15555550800", Company: "co_s"})
				opt.Companies = append(opt.Companies, Company{ID: "co_s", Suspended: true})
			})
			inQuery := strings.HasPrefix(o.Request, "C") && (o.Method == http.MethodGet || o.Method == http.MethodDelete)
			about := o.Scope == operations.Connection || inQuery
			for _, c := range []struct{ key, conn string }{
				{"partner", "conn_1"}, {"one", "conn_1"}, {"one", "conn_9"}, {"partner", "conn_x"}, {"suspended", "conn_s"}, {"partner", "conn_s"},
			} {
				status, code := askRow(t, s, o, c.key, c.conn)
				want := ""
				switch {
				case o.Scope == operations.Partner && c.key != "partner":
					want = "partner_key_required"
				case c.key == "suspended":
					want = "account_deactivated"
				case about && (c.conn == "conn_x" || c.key == "one" && c.conn == "conn_9"):
					want = "connection_not_found"
				case about && c.conn == "conn_s" && o.Writes():
					want = "account_deactivated"
				}
				switch {
				case want == "" && o.Scope == operations.Record:
					if status != 404 {
						t.Errorf("key %s: got %d %q for an unknown id, want 404", c.key, status, code)
					}
				case want == "" && !reached(status) || want != "" && code != want:
					t.Errorf("key %s, connection %s: got %d %q, want %q", c.key, c.conn, status, code, want)
				}
			}
		})
	}
}

// Another method of a path is 405, and another path 404; under /billing a client's key gets 403.
func TestOtherMethodsAndPathsAreRefused(t *testing.T) {
	s := twoClients(t)
	paths := map[string][]string{}
	for _, o := range offered(t) {
		paths[o.At("x")] = append(paths[o.At("x")], o.Method)
	}
	for path, methods := range paths {
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if strings.Contains(strings.Join(methods, " "), m) || strings.HasPrefix(path, "/api/v1/billing") {
				continue
			}
			res := call(t, s, m, path, "partner", "{}")
			if code, _ := errorOf(t, res); res.StatusCode != 405 || code != "method_not_allowed" {
				t.Errorf("%s %s: got %d %s, want 405 method_not_allowed", m, path, res.StatusCode, code)
			}
		}
	}
	for _, c := range []struct {
		key, path, want string
	}{
		{"partner", "/api/v1/nothing", "not_found"}, {"partner", "/api/v1/billing/xyz", "not_found"},
		{"one", "/api/v1/billing/xyz", "partner_key_required"}, {"one", "/api/v1/billing", "partner_key_required"},
	} {
		if code, _ := errorOf(t, call(t, s, "GET", c.path, c.key, "")); code != c.want {
			t.Errorf("GET %s with key %s: got %q, want %q", c.path, c.key, code, c.want)
		}
	}
}
