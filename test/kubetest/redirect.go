package kubetest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Forbidden returns the address of a server that must not receive a request.
func Forbidden(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		t.Errorf("%s receives %s %s", request.Host, request.Method, request.URL)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// Redirecting returns the address of a server that redirects all requests to one that must not receive any.
func Redirecting(t *testing.T) string {
	t.Helper()
	other := Forbidden(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		http.Redirect(w, request, other+"/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
