// Package pki creates the keys, certificates and kubeconfigs of one dev cluster, which are valid only for that cluster.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// lifetime is the validity of all certificates: longer than a dev cluster runs, but too short for other uses.
const lifetime = 30 * 24 * time.Hour

// ClusterName is the name of the cluster and the context in kubeconfigs.
const ClusterName = "devcluster"

// Identity is the subject of a certificate. Kubernetes uses the common name as the
// user and the organizations as groups.
type Identity struct {
	CommonName    string
	Organizations []string
	IPs           []net.IP // only for servers
	DNSNames      []string // only for servers
}

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	Cert []byte
	Key  []byte
}

// CA signs the certificates of one cluster.
type CA struct {
	Pair
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// NewCA creates a self-signed ECDSA authority with a new key.
func NewCA(commonName string, now time.Time) (*CA, error) {
	template := baseTemplate(Identity{CommonName: commonName}, now)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create the key of the authority %s: %w", commonName, err)
	}
	pair, cert, err := sign(template, template, key, key)
	if err != nil {
		return nil, fmt.Errorf("create the authority %s: %w", commonName, err)
	}
	return &CA{Pair: pair, cert: cert, key: key}, nil
}

// LoadCA reads an authority that WriteTo has written. The error is fs.ErrNotExist if there is none.
func LoadCA(dir, name string) (*CA, error) {
	cert, err := os.ReadFile(filepath.Join(dir, name+".crt"))
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(filepath.Join(dir, name+".key"))
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the authority %s in %s: %w", name, dir, err)
	}
	private, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read the authority %s in %s: its key is not an ECDSA key", name, dir)
	}
	return &CA{Pair: Pair{Cert: cert, Key: key}, cert: pair.Leaf, key: private}, nil
}

// ValidUntil returns the time at which the authority expires.
func (ca *CA) ValidUntil() time.Time { return ca.cert.NotAfter }

// Issue signs a certificate with a new key: for a server if it has IPs or DNS names, otherwise for a client.
func (ca *CA) Issue(id Identity, now time.Time) (Pair, error) {
	template := baseTemplate(id, now)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(id.IPs)+len(id.DNSNames) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("create the key of %s: %w", id.CommonName, err)
	}
	pair, _, err := sign(template, ca.cert, key, ca.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", id.CommonName, err)
	}
	return pair, nil
}

// NewKey creates an ECDSA private key in PEM.
func NewKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return encodeKey(key)
}

// WriteTo writes NAME.crt and NAME.key to dir, readable only by the owner.
func (p Pair) WriteTo(dir, name string) (certFile, keyFile string, err error) {
	certFile, keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	if err := os.WriteFile(certFile, p.Cert, 0o600); err != nil {
		return "", "", err
	}
	return certFile, keyFile, os.WriteFile(keyFile, p.Key, 0o600)
}

// Kubeconfig renders a kubeconfig with one cluster, one user (client certificate) and one current context.
func Kubeconfig(server, user string, caCert []byte, client Pair) ([]byte, error) {
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			ClusterName: {Server: server, CertificateAuthorityData: caCert},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			user: {ClientCertificateData: client.Cert, ClientKeyData: client.Key},
		},
		Contexts:       map[string]*clientcmdapi.Context{ClusterName: {Cluster: ClusterName, AuthInfo: user}},
		CurrentContext: ClusterName,
	})
}

func baseTemplate(id Identity, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: id.CommonName, Organization: id.Organizations},
		IPAddresses: id.IPs,
		DNSNames:    id.DNSNames,
		// One minute in the past, for clients whose clock is slightly behind.
		NotBefore: now.Add(-time.Minute),
		NotAfter:  now.Add(lifetime),
	}
}

func sign(template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) (Pair, *x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return Pair{}, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return Pair{}, nil, err
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return Pair{}, nil, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), Key: keyPEM}, cert, nil
}

// encodeKey uses the older of the two PEM forms, from which alone Kubernetes derives the public key.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
