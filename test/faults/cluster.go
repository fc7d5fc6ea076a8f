package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// cluster is the connection of the bench to the dev cluster: without a proxy, and with all permissions.
type cluster struct {
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	served    []served
	upstream  *url.URL
	transport http.RoundTripper // without credentials
	token     string            // of an account with all permissions

	namespaces atomic.Int64 // of cycles
}

// startCluster starts a dev cluster in a directory, with the CRDs of the scenario and what the bench does instead of
// their controllers.
func startCluster(ctx context.Context, dir string) (c *cluster, stop func() error, err error) {
	crds, err := acctest.KnativeAndKueueCRDArgs()
	if err != nil {
		return nil, nil, err
	}
	dev, err := acctest.StartCluster(append([]string{"--dir", dir,
		"--node", "name=cpu-0", "--node", "name=cpu-1", "--node", "name=cpu-2"}, crds...)...)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	if c, err = connect(ctx, dev.Kubeconfig()); err != nil {
		cancel()
		return nil, nil, errors.Join(err, dev.Stop())
	}
	var controllers sync.WaitGroup
	controllers.Go(func() { c.control(ctx) })
	return c, func() error {
		cancel()
		controllers.Wait()
		return dev.Stop()
	}, nil
}

func connect(ctx context.Context, kubeconfig string) (*cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	c := &cluster{}
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.served, err = discover(c.client.Discovery()); err != nil {
		return nil, err
	}
	if c.upstream, err = url.Parse(config.Host); err != nil {
		return nil, err
	}
	anonymous := rest.AnonymousClientConfig(config)
	trust, err := rest.TLSConfigFor(anonymous)
	if err != nil {
		return nil, err
	}
	c.transport = &http.Transport{
		TLSClientConfig:     trust,
		DisableCompression:  true, // bodies are passed unchanged
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     time.Minute,
		TLSNextProto:        map[string]func(string, *tls.Conn) http.RoundTripper{}, // a connection for each request
	}
	return c, c.makeAccount(ctx)
}

// makeAccount creates a service account with all permissions, and a token for it.
func (c *cluster) makeAccount(ctx context.Context) error {
	const name = "faults"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: name}},
	}
	_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	day := int64(24 * 60 * 60)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}}
	granted, err := c.client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, name, request,
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.token = granted.Status.Token
	return nil
}

// makeNamespace creates a namespace in which pods can be created.
func (c *cluster) makeNamespace(ctx context.Context, name string) error {
	_, err := c.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return poll(ctx, time.Minute, "the default service account of "+name, func() (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, ignoreNotFound(err)
	})
}

func (c *cluster) deleteNamespace(ctx context.Context, name string) error {
	return ignoreNotFound(c.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}))
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// startProxy starts a proxy for a namespace.
func (c *cluster) startProxy(namespace string, http2 bool) (*proxy.Proxy, error) {
	return proxy.Start(proxy.Options{
		Upstream: c.upstream, Transport: c.transport, Token: c.token, Namespace: namespace, HTTP2: http2,
	})
}

func isReady(d *appsv1.Deployment) bool {
	return d.Spec.Replicas != nil && d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.ReadyReplicas == *d.Spec.Replicas
}

// poll waits for a condition.
func poll(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done()
		if ok || err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("timed out after %s waiting for %s", limit, what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
