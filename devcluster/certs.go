package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/pki"
)

// certFiles contains the paths of the files that the components read.
type certFiles struct {
	issuer                              *pki.CA // the CA in ca and caKey
	ca, caKey                           string
	frontCA, frontCert, frontKey        string
	serverCert, serverKey               string
	kubeletClientCert, kubeletClientKey string // client certificate of the API server for kubelets
	kubeletCert, kubeletKey             string // server certificate of the fake kubelet
	accountKey                          string // signs and verifies service account tokens
	adminKubeconfig                     string // for the components of the cluster
}

// writeCerts creates the keys of a cluster in dir and writes a cluster-admin kubeconfig for the user to
// userKubeconfig. It reuses the authorities and the service account key of an earlier start, so that its kubeconfigs
// and tokens remain valid.
func writeCerts(dir, server, userKubeconfig string) (certFiles, error) {
	dir = filepath.Join(dir, "pki")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return certFiles{}, err
	}
	now := time.Now()
	ca, err := authority(dir, "ca", now)
	if err != nil {
		return certFiles{}, err
	}
	front, err := authority(dir, "front-proxy-ca", now)
	if err != nil {
		return certFiles{}, err
	}

	files := certFiles{issuer: ca}
	issue := []struct {
		by        *pki.CA
		name      string
		id        pki.Identity
		cert, key *string
	}{
		{ca, "apiserver", pki.Identity{
			CommonName: "kube-apiserver",
			IPs:        []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1)},
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc.cluster.local"},
		}, &files.serverCert, &files.serverKey},
		{ca, "apiserver-kubelet-client", pki.Identity{
			CommonName: "kube-apiserver-kubelet-client", Organizations: []string{"system:masters"},
		}, &files.kubeletClientCert, &files.kubeletClientKey},
		{ca, "kubelet", pki.Identity{
			CommonName: "system:node:fake", Organizations: []string{"system:nodes"},
			IPs: []net.IP{net.IPv4(127, 0, 0, 1)},
		}, &files.kubeletCert, &files.kubeletKey},
		{front, "front-proxy-client", pki.Identity{CommonName: "front-proxy-client"}, &files.frontCert,
			&files.frontKey},
	}
	for _, c := range issue {
		pair, err := c.by.Issue(c.id, now)
		if err != nil {
			return certFiles{}, err
		}
		if *c.cert, *c.key, err = pair.WriteTo(dir, c.name); err != nil {
			return certFiles{}, err
		}
	}
	if files.ca, files.caKey, err = ca.WriteTo(dir, "ca"); err != nil {
		return certFiles{}, err
	}
	if files.frontCA, _, err = front.WriteTo(dir, "front-proxy-ca"); err != nil {
		return certFiles{}, err
	}
	if files.accountKey, err = accountKey(dir); err != nil {
		return certFiles{}, err
	}

	files.adminKubeconfig = filepath.Join(dir, "components.kubeconfig")
	for user, file := range map[string]string{"devcluster-components": files.adminKubeconfig,
		"devcluster-admin": userKubeconfig} {
		if err := writeKubeconfig(ca, now, server, user, file); err != nil {
			return certFiles{}, err
		}
	}
	return files, nil
}

// authority returns the authority of an earlier start unless it expires within a day, otherwise a new one.
func authority(dir, name string, now time.Time) (*pki.CA, error) {
	ca, err := pki.LoadCA(dir, name)
	switch {
	case err == nil && ca.ValidUntil().Sub(now) > 24*time.Hour:
		return ca, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return pki.NewCA("devcluster-"+name, now)
}

// accountKey returns the file of the key that signs service account tokens, and creates it unless it exists.
func accountKey(dir string) (string, error) {
	file := filepath.Join(dir, "service-accounts.key")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	key, err := pki.NewKey()
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, key, 0o600)
}

func writeKubeconfig(ca *pki.CA, now time.Time, server, user, file string) error {
	client, err := ca.Issue(pki.Identity{CommonName: user, Organizations: []string{"system:masters"}}, now)
	if err != nil {
		return err
	}
	text, err := pki.Kubeconfig(server, user, ca.Cert, client)
	if err != nil {
		return fmt.Errorf("render the kubeconfig of %s: %w", user, err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("write the kubeconfig of %s: %w", user, err)
	}
	return nil
}
