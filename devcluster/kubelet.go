package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/kubelet"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/nodespec"
)

// nodeIP is the address of all fake nodes, at which the API server requests logs.
const nodeIP = "127.0.0.1"

// startKubelet simulates the pods that KWOK does not handle, and serves the logs of all pods
// on fake nodes at the listener. It runs until stop is called.
func startKubelet(
	base context.Context, client kubernetes.Interface, files certFiles, listener net.Listener,
) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(base)
	controller, err := kubelet.Run(ctx, kubelet.Config{
		Client:   client,
		Managed:  func(node *corev1.Node) bool { return node.Annotations[nodespec.ManagedAnnotation] == "fake" },
		HostIP:   nodeIP,
		FirstPod: netip.MustParseAddr("10.80.0.1"), // after the range of KWOK
	})
	if err != nil {
		cancel()
		return nil, err
	}
	config, err := kubeletTLS(files)
	if err != nil {
		cancel()
		return nil, err
	}
	server := &http.Server{
		Handler:           kubelet.LogHandler(controller.Pod),
		TLSConfig:         config,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- server.ServeTLS(listener, "", "") }()
	return func() error {
		cancel()
		err := server.Close()
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}, nil
}

// kubeletTLS accepts only the API server as a client.
func kubeletTLS(files certFiles) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(files.kubeletCert, files.kubeletKey)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's certificate: %w", err)
	}
	ca, err := os.ReadFile(files.ca)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s contains no certificate", files.ca)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientCAs:    clients,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS12,
	}, nil
}
