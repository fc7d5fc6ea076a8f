package config

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
)

// RedirectError reports that a server responded with a redirect, which is not followed: client-go would send the
// credentials, and with 307 and 308 also the object, to the other address.
type RedirectError struct {
	Status string
	// From is the requested address, without its query, and To the one in the response, which is foreign text.
	From, To string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("%s responds with a redirect (%s) to %s, which is not followed, because it would receive the "+
		"credentials", e.From, e.Status, e.To)
}

// maxTarget is the maximum length in bytes of the target of a redirect in an error.
const maxTarget = 200

// rejectRedirects is an http.RoundTripper that returns an error instead of a redirect. It is below all clients of a
// configuration, including those of upgraded connections.
type rejectRedirects struct{ next http.RoundTripper }

// RoundTrip makes one request.
func (r rejectRedirects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return response, nil
	}
	_ = response.Body.Close()
	return nil, &RedirectError{Status: StatusOf(response), From: address(request.URL), To: target(request, response)}
}

// StatusOf returns the status code of a response with its usual reason. That of the server is foreign text.
func StatusOf(response *http.Response) string {
	return strings.TrimSpace(strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode))
}

// address returns a URL without user and query.
func address(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// target returns the address in a redirect as quoted text.
func target(request *http.Request, response *http.Response) string {
	location := printable.HideCredential(response.Header.Get("Location"), request.Header.Get("Authorization"))
	if u, err := request.URL.Parse(location); err == nil {
		location = address(u)
	}
	if len(location) > maxTarget {
		location = location[:maxTarget] + "…"
	}
	return strconv.Quote(location)
}
