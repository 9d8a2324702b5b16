package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// guardHost answers requests whose Host is a name of this process only. A page that a browser on
// this machine has loaded can point its own name to this address (DNS rebinding), but it cannot
// change the Host that the browser then sends.
func guardHost(h http.Handler, names []string) http.Handler {
	if own, err := os.Hostname(); err == nil {
		names = append(slices.Clone(names), own)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known(r.Host, names) {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Connection", "close") // the body is not read
		w.WriteHeader(http.StatusMisdirectedRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "unknown_host", // the caller may have gone
			"message": fmt.Sprintf("this listener does not answer for the host %.100q; name it in listen.admin_hosts", r.Host)})
	})
}

// known reports whether no stranger can own the name of a Host: an address, a name without a dot,
// localhost, a service of Kubernetes, a private name (.internal), or one of names.
func known(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || !strings.Contains(host, ".") {
		return true
	}
	for _, own := range []string{".localhost", ".svc", ".svc.cluster.local", ".internal"} {
		if strings.HasSuffix(host, own) {
			return true
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, host) })
}

// ownerName returns a name that no other process has, and no other start of this one.
func ownerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%d", host, os.Getpid(), time.Now().UnixNano())
}
