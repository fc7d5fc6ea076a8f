package config

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// check validates the attributes that need no file. Its errors name the attribute and never contain a credential.
func (c Config) check() error {
	for _, field := range []struct{ attribute, variable, text string }{
		{"cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA", c.ClusterCACertificate},
		{"client_certificate", "KUBE_CLIENT_CERT_DATA", c.ClientCertificate},
		{"client_key", "KUBE_CLIENT_KEY_DATA", c.ClientKey},
	} {
		if err := checkPEM(field.text); err != nil {
			return newError(field.attribute, "%s (or %s) %w", field.attribute, field.variable, err)
		}
	}
	if err := c.checkPair(); err != nil {
		return err
	}
	if strings.ContainsAny(strings.TrimSpace(c.Token), " \t\r\n") {
		return newError("token", "token (or KUBE_TOKEN) contains white space, which is not valid in a token; its "+
			"value is not shown")
	}
	if c.Insecure != nil && *c.Insecure && c.ClusterCACertificate != "" {
		return newError("insecure",
			"insecure (or KUBE_INSECURE) and cluster_ca_certificate (or KUBE_CLUSTER_CA_CERT_DATA) cannot both be "+
				"set: with insecure, the certificate of the server is not verified")
	}
	if err := checkProxy(c.ProxyURL); err != nil {
		return newError("proxy_url", "proxy_url (or KUBE_PROXY_URL): %w", err)
	}
	return nil
}

// checkPair requires a client certificate and its key to be set together.
func (c Config) checkPair() error {
	switch {
	case c.ClientCertificate == "" && c.ClientKey == "":
		return nil
	case c.ClientKey == "":
		return newError("client_key", "client_certificate is set, but client_key (or KUBE_CLIENT_KEY_DATA) is not; "+
			"set both")
	case c.ClientCertificate == "":
		return newError("client_certificate",
			"client_key is set, but client_certificate (or KUBE_CLIENT_CERT_DATA) is not; set both")
	}
	if _, err := tls.X509KeyPair([]byte(c.ClientCertificate), []byte(c.ClientKey)); err != nil {
		return newError("client_certificate", "client_certificate and client_key cannot be used together: %w", err)
	}
	return nil
}

// checkPEM requires PEM. Its errors explain how to correct values that are commonly set instead.
func checkPEM(text string) error {
	if text == "" {
		return nil
	}
	if block, _ := pem.Decode([]byte(text)); block != nil {
		return nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if block, _ := pem.Decode(decoded); err == nil && block != nil {
		return errors.New("is base64-encoded PEM: decode it, for example with base64decode(…) or base64 --decode")
	}
	if !strings.Contains(text, "\n") && len(text) < 1024 {
		return errors.New("is not PEM, which starts with -----BEGIN; to read a file, use file(\"…\")")
	}
	return errors.New("is not PEM, which starts with -----BEGIN at the beginning of a line")
}

func checkProxy(proxy string) error {
	u, err := url.Parse(proxy)
	if proxy == "" || (err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https" ||
		u.Scheme == "socks5")) {
		return nil
	}
	return fmt.Errorf(
		"%q is not the URL of a proxy with the scheme http, https or socks5, such as http://proxy.example.com:3128",
		withoutUser(proxy))
}

// serverURL validates the address of an API server and adds the scheme https if it
// has none: client-go would use http and silently omit the credentials.
func serverURL(address string) (string, error) {
	full := address
	if !strings.Contains(full, "://") {
		full = "https://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Hostname() == "" || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("%q is not the address of an API server, such as https://10.0.0.1:6443",
			withoutUser(address))
	}
	return full, nil
}

// withoutUser masks the user and password of a text that should be a URL.
func withoutUser(text string) string {
	return regexp.MustCompile(`^([^@]*//)?.*@`).ReplaceAllString(text, "$1***@")
}

// checkPaths returns an error if content was set instead of a path. The error does not contain it, because it may
// contain credentials.
func checkPaths(paths []string) error {
	const maxLength = 1024
	for _, path := range paths {
		if strings.Contains(path, "\n") || len(path) > maxLength {
			return errors.New("contains text that is not a path, probably the content of a kubeconfig; " +
				"write the kubeconfig to a file and set its path")
		}
	}
	return nil
}
