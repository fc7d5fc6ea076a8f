package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/internal/faults/proxy"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// waitingTime is the time after their creation at which the bench allows pods with the waiting label to be scheduled.
const waitingTime = 1500 * time.Millisecond

// cluster is the connection of the bench to the dev cluster: without a proxy, and with all permissions.
type cluster struct {
	client    kubernetes.Interface
	upstream  *url.URL
	transport http.RoundTripper // without credentials
	token     string            // of an account with all permissions
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

// live is an object that the provider manages in the cluster.
type live struct {
	uid types.UID
	// settled reports whether the object has reached its desired state.
	settled bool
}

// liveObjects returns the objects of a namespace that have the provider's field manager, by
// Kind/namespace/name, as in `manifests`.
func (c *cluster) liveObjects(ctx context.Context, namespace string) (map[string]live, error) {
	out := map[string]live{}
	add := func(kind string, object metav1.Object, settled bool) {
		managed := slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
			return strings.HasPrefix(entry.Manager, kube.Manager)
		})
		if managed {
			out[kind+"/"+object.GetNamespace()+"/"+object.GetName()] = live{uid: object.GetUID(), settled: settled}
		}
	}
	deployments, err1 := c.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	services, err2 := c.client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	secrets, err3 := c.client.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{})
	configMaps, err4 := c.client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	claims, err5 := c.client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		add("Deployment", &deployments.Items[i], isReady(&deployments.Items[i]))
	}
	for i := range services.Items {
		add("Service", &services.Items[i], true)
	}
	for i := range secrets.Items {
		add("Secret", &secrets.Items[i], true)
	}
	for i := range configMaps.Items {
		add("ConfigMap", &configMaps.Items[i], true)
	}
	for i := range claims.Items {
		add("PersistentVolumeClaim", &claims.Items[i], true)
	}
	return out, nil
}

func isReady(d *appsv1.Deployment) bool {
	return d.Spec.Replicas != nil && d.Status.ObservedGeneration >= d.Generation &&
		d.Status.UpdatedReplicas == *d.Spec.Replicas && d.Status.ReadyReplicas == *d.Spec.Replicas
}

// remains lists the managed objects and pods that remain in a namespace after a destroy.
func (c *cluster) remains(ctx context.Context, namespace string) ([]string, error) {
	objects, err := c.liveObjects(ctx, namespace)
	if err != nil {
		return nil, err
	}
	left := slices.Collect(maps.Keys(objects))
	pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		left = append(left, "Pod/"+namespace+"/"+pod.Name)
	}
	slices.Sort(left)
	return left, nil
}

// admitWaitingPods allows pods with the waiting label to be scheduled some time after their creation, as the controller
// of a queue does. It returns when the context is cancelled.
func (c *cluster) admitWaitingPods(ctx context.Context) {
	ticker := time.NewTicker(waitingTime / 5)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
			LabelSelector: waitingLabel, FieldSelector: "spec.nodeName=",
		})
		if err != nil {
			continue // retried at the next tick
		}
		for _, pod := range pods.Items {
			if len(pod.Spec.SchedulingGates) == 0 || time.Since(pod.CreationTimestamp.Time) < waitingTime {
				continue
			}
			patch := []byte(`[{"op": "remove", "path": "/spec/schedulingGates"}]`)
			// A failed patch is retried at the next tick.
			_, _ = c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType, patch,
				metav1.PatchOptions{})
		}
	}
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
