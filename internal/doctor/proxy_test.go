package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"campaignd/internal/config"
	"campaignd/internal/messaging"
)

func TestAProxyThatMessagesIgnoreIsNamed(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "")
	}
	if got := checkProxy(t.Context(), nil); len(got) != 0 {
		t.Errorf("without a proxy: got %+v, want no line", got)
	}
	for _, name := range []string{"HTTPS_PROXY", "http_proxy"} {
		t.Setenv(name, "http://proxy.example:3128")
		got := checkProxy(t.Context(), nil)
		if len(got) != 1 || got[0].Health != HealthWarn || !strings.HasPrefix(got[0].Detail, name+" is set and not used") {
			t.Errorf("%s: got %+v, want one warning that names it", name, got)
		}
		t.Setenv(name, "")
	}
}

// A CA of a company's own is no fault of DNS or of the firewall.
func TestAPrivateCAHasItsOwnRemedy(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	cfg := config.Default()
	cfg.Service.BaseURL, cfg.Service.APIKey = server.URL, messaging.NewSecret("key")
	cfg.Commerce.BaseURL, cfg.Commerce.APIKey, cfg.Commerce.Company = server.URL, messaging.NewSecret("key"), "01J"
	cfg.Numbers = map[string]config.Number{"conn_1": {Rate: 1}}
	for name, got := range map[string][]Check{"service": checkService(t.Context(), cfg), "commerce": checkCommerce(t.Context(), cfg)} {
		if len(got) != 1 || got[0].Health != HealthFail || !strings.Contains(got[0].Remedy, "SSL_CERT_FILE") {
			t.Errorf("%s: got %+v, want a failure whose remedy names SSL_CERT_FILE", name, got)
		}
	}
	cfg.Service.BaseURL = "https://127.0.0.1:1"
	if got := checkService(t.Context(), cfg); len(got) != 1 || !strings.Contains(got[0].Remedy, "DNS and the firewall") {
		t.Errorf("nothing listens: got %+v, want the remedy of an address", got)
	}
}
