package doctor

import (
	"context"
	"os"

	"campaignd/internal/config"
)

// checkProxy says who uses the proxy of the environment. Messages never do: a proxy may repeat a
// request, and a repeated post is a second message (docs/protocol.md#posting).
func checkProxy(context.Context, *config.Config) []Check {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			return []Check{warn("proxy", "let this machine reach these addresses directly, or unset it where nothing else needs it",
				"%s is set and not used for the service, the Cloud API and the commerce platform; notifications and --server use it", name)}
		}
	}
	return nil
}
