package kubelet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// workers is the number of pods that are processed in parallel.
const workers = 8

// Config configures a Controller.
type Config struct {
	Client   kubernetes.Interface
	Managed  func(*corev1.Node) bool // whether the controller handles pods on the node
	HostIP   string                  // address of all managed nodes
	FirstPod netip.Addr              // first address for pods
}

// Controller updates the status of the pods for which Handles returns true.
type Controller struct {
	config   Config
	pods     listersv1.PodLister
	nodes    listersv1.NodeLister
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	recorder record.EventRecorder
	podCount atomic.Int64
}

// Run starts a Controller, which runs until the context is cancelled. It returns after the caches are synced.
func Run(ctx context.Context, config Config) (*Controller, error) {
	factory := informers.NewSharedInformerFactory(config.Client, 0)
	core := factory.Core().V1()
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: config.Client.CoreV1().Events("")})
	c := &Controller{
		config: config,
		pods:   core.Pods().Lister(),
		nodes:  core.Nodes().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](20*time.Millisecond, 5*time.Second)),
		recorder: broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet"}),
	}
	// A pod may wait for any Secret or ConfigMap of its namespace.
	for informer, handle := range map[cache.SharedIndexInformer]func(any){
		core.Pods().Informer():       c.podChanged,
		core.Secrets().Informer():    c.objectChanged,
		core.ConfigMaps().Informer(): c.objectChanged,
		core.Nodes().Informer():      func(any) {},
	} {
		handlers := cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, object any) { handle(object) }}
		if _, err := informer.AddEventHandler(handlers); err != nil {
			return nil, fmt.Errorf("watch for the fake kubelet: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("the fake kubelet could not list %s", kind)
		}
	}
	context.AfterFunc(ctx, func() {
		c.queue.ShutDown()
		broadcaster.Shutdown()
	})
	for range workers {
		go wait.UntilWithContext(ctx, c.work, time.Second)
	}
	return c, nil
}

// Pod returns a pod on a managed node, or nil.
func (c *Controller) Pod(namespace, name string) *corev1.Pod {
	pod, err := c.pods.Pods(namespace).Get(name)
	if err != nil || !c.onManagedNode(pod) {
		return nil
	}
	return pod
}

func (c *Controller) podChanged(object any) {
	if pod, ok := object.(*corev1.Pod); ok && c.ours(pod) {
		c.queue.Add(cache.MetaObjectToName(pod))
	}
}

// objectChanged processes the pods of the object's namespace that are not running yet.
func (c *Controller) objectChanged(object any) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return
	}
	pods, err := c.pods.Pods(meta.GetNamespace()).List(labels.Everything())
	if err != nil {
		return // a lister of a cache does not fail
	}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodPending && c.ours(pod) {
			c.queue.Add(cache.MetaObjectToName(pod))
		}
	}
}

func (c *Controller) ours(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return !ended && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && Handles(pod)
}

func (c *Controller) onManagedNode(pod *corev1.Pod) bool {
	node, err := c.nodes.Get(pod.Spec.NodeName)
	return err == nil && c.config.Managed(node)
}

func (c *Controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		again, err := c.sync(ctx, key)
		switch {
		case err != nil && ctx.Err() == nil:
			c.queue.AddRateLimited(key)
		default:
			c.queue.Forget(key)
			if again > 0 {
				c.queue.AddAfter(key, again)
			}
		}
		c.queue.Done(key)
	}
}

func (c *Controller) sync(ctx context.Context, key cache.ObjectName) (time.Duration, error) {
	pod, err := c.pods.Pods(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if !c.ours(pod) || !c.onManagedNode(pod) {
		return 0, nil
	}
	result, err := Sync(pod, liveObjects{ctx, c.config.Client}, time.Now(), c.config.HostIP, c.nextPodIP(pod))
	if err != nil {
		return 0, err
	}
	if !apiequality.Semantic.DeepEqual(result.Status, pod.Status) {
		next := pod.DeepCopy()
		next.Status = result.Status
		_, err := c.config.Client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, next, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return 0, nil
		}
		// After a conflict, the event that updates the cache triggers the next attempt.
		if err != nil {
			return 0, err
		}
	}
	for _, event := range result.Events {
		c.recorder.Event(&corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			ResourceVersion: pod.ResourceVersion, FieldPath: event.Container,
		}, event.Type, event.Reason, event.Message)
	}
	return result.Again, nil
}

// nextPodIP returns the address of a pod, or a new one if it has none.
func (c *Controller) nextPodIP(pod *corev1.Pod) string {
	if pod.Status.PodIP != "" {
		return pod.Status.PodIP
	}
	n := uint32(c.podCount.Add(1) - 1)
	b := c.config.FirstPod.As4()
	sum := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	sum += n
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}).String()
}

// liveObjects reads objects from the API server, because a cache may be behind, and objects that
// were created just before the pod would be reported as missing.
type liveObjects struct {
	ctx    context.Context
	client kubernetes.Interface
}

func (o liveObjects) Secret(namespace, name string) (*corev1.Secret, error) {
	return found(o.client.CoreV1().Secrets(namespace).Get(o.ctx, name, metav1.GetOptions{}))
}

func (o liveObjects) ConfigMap(namespace, name string) (*corev1.ConfigMap, error) {
	return found(o.client.CoreV1().ConfigMaps(namespace).Get(o.ctx, name, metav1.GetOptions{}))
}

// found converts "not found" to nil.
func found[T any](object *T, err error) (*T, error) {
	if err != nil {
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Reason == metav1.StatusReasonNotFound {
			return nil, nil
		}
		return nil, err
	}
	return object, nil
}
