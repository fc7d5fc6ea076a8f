package manager

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

func TestServerServesTheMarkerWithItsOwnCertificate(t *testing.T) {
	t.Parallel()
	s := testServer(t)
	mark := newMarker("own-mutating")
	s.Register(mark.path(), mark.handler())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()

	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.ca) {
		t.Fatal("the CA is not PEM")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "1"}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: transport}).Post(s.url(mark.path()), "application/json",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer admissionv1.AdmissionReview
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if !mark.called.Load() || answer.Response == nil || !answer.Response.Allowed {
		t.Errorf("called: %t, response %+v; want an allowed call", mark.called.Load(), answer.Response)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("stopped with %v", err)
	}
}
