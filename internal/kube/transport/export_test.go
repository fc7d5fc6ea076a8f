package transport

import (
	"net/http"

	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// Plain returns the part of a [Transport] that rewords failures, without retries.
func Plain(next http.RoundTripper, plugin *config.Plugin) http.RoundTripper {
	return Transport{next: next, plugin: plugin}
}
