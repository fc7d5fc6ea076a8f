package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// statusError returns the error of client-go for a response with a Status.
func statusError(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details,
	}}
}

func about(kind, group, name string, causes ...metav1.StatusCause) *metav1.StatusDetails {
	return &metav1.StatusDetails{Name: name, Kind: kind, Group: group, Causes: causes}
}

func tried(err error) error {
	return &url.Error{Op: "Patch",
		URL: "https://10.0.0.1:6443/apis/apps/v1/namespaces/ml/deployments/trainer" +
			"?fieldManager=terraform-provider-kt&force=true", Err: err}
}

// The statuses are responses of Kubernetes 1.36.
func failures() map[string]struct {
	err   error
	class Class
} {
	deployments := about("deployments", "apps", "trainer")
	return map[string]struct {
		err   error
		class Class
	}{
		"rbac-or-admission": {statusError(403, metav1.StatusReasonForbidden,
			`deployments.apps "trainer" is forbidden: User "system:serviceaccount:ml:reader" cannot patch resource `+
				`"deployments" in API group "apps" in the namespace "ml"`, deployments), Refused},
		"quota": {statusError(403, metav1.StatusReasonForbidden,
			`deployments.apps "trainer" is forbidden: exceeded quota: team, requested: count/deployments.apps=1, `+
				`used: count/deployments.apps=2, limited: count/deployments.apps=2`, deployments), Refused},
		"policy": {statusError(422, metav1.StatusReasonInvalid,
			`deployments.apps "trainer" is forbidden: ValidatingAdmissionPolicy 'few-replicas.example.com' with `+
				`binding 'few-replicas' denied request: at most 2 replicas`,
			about("deployments", "apps", "trainer", metav1.StatusCause{Message: `ValidatingAdmissionPolicy ` +
				`'few-replicas.example.com' with binding 'few-replicas' denied request: at most 2 replicas`})),
			Refused},
		"webhook": {statusError(403, metav1.StatusReasonForbidden,
			`admission webhook "validate.kyverno.svc-fail" denied the request: the label team is required`,
			nil), Refused},
		"webhook-without-a-reason": {statusError(400, metav1.StatusReasonUnknown,
			`admission webhook "check.example.com" denied the request: the label team is required`, nil), Refused},
		"webhook-fails": {statusError(500, metav1.StatusReasonInternalError,
			`Internal error occurred: failed calling webhook "check.example.com": failed to call webhook: Post `+
				`"https://check.policy.svc:443/?timeout=10s": dial tcp 10.96.3.7:443: connect: connection refused`,
			&metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "failed calling webhook"}}}), Other},
		"knative-features": {statusError(400, metav1.StatusReasonBadRequest,
			`admission webhook "validation.webhook.serving.knative.dev" denied the request: validation failed: must `+
				`not set the field(s): spec.template.spec.containers[0].securityContext.capabilities.add, `+
				`spec.template.spec.tolerations`, nil), Invalid},
		"knative-pods": {statusError(400, metav1.StatusReasonBadRequest, knativePods(`pods "dry-run-validation" is `+
			`forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4`), nil), PodsRefused},
		"knative-invalid-pods": {statusError(400, metav1.StatusReasonBadRequest, knativePods(
			`Pod "dry-run-validation" is invalid: spec.priority: Forbidden: made up`), nil), Invalid},
		"namespace-terminating": {statusError(403, metav1.StatusReasonForbidden,
			`deployments.apps "trainer" is forbidden: unable to create new content in namespace ml because it is `+
				`being terminated`, about("deployments", "apps", "trainer",
				metav1.StatusCause{Type: "NamespaceTerminating", Message: "namespace ml is being terminated",
					Field: "metadata.namespace"})), Refused},
		"namespace-missing": {statusError(404, metav1.StatusReasonNotFound, `namespaces "ml" not found`,
			about("namespaces", "", "ml")), NamespaceMissing},
		"object-missing": {statusError(404, metav1.StatusReasonNotFound, `deployments.apps "trainer" not found`,
			deployments), NotFound},
		"kind-missing": {statusError(404, metav1.StatusReasonNotFound,
			"the server could not find the requested resource",
			&metav1.StatusDetails{}), KindMissing},
		"unauthorized": {statusError(401, metav1.StatusReasonUnauthorized, "Unauthorized", nil), Unauthorized},
		"invalid": {statusError(422, metav1.StatusReasonInvalid,
			`Deployment.apps "trainer" is invalid: [spec.template.spec.containers[0].ports[0].containerPort: Invalid `+
				`value: 99999: must be between 1 and 65535, inclusive, spec.template.spec.containers[0].image: `+
				`Required `+
				`value]`, about("Deployment", "apps", "trainer",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid,
					Field:   "spec.template.spec.containers[0].ports[0].containerPort",
					Message: "Invalid value: 99999: must be between 1 and 65535, inclusive"},
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired,
					Field: "spec.template.spec.containers[0].image", Message: "Required value"})), Invalid},
		"unknown-field": {statusError(400, metav1.StatusReasonBadRequest,
			`failed to create typed patch object (ml/trainer; apps/v1, Kind=Deployment): .spec.replica: field not `+
				`declared in schema`, nil), Invalid},
		"another-type": {statusError(500, metav1.StatusReasonUnknown,
			`failed to create typed patch object (ml/trainer; apps/v1, Kind=Deployment): .spec.replicas: expected `+
				`numeric (int or float), got string`, nil), Invalid},
		"duplicate": {statusError(422, metav1.StatusReasonInvalid,
			`Deployment.apps "trainer" is invalid: spec.template.spec.containers[0].ports[1].name: Duplicate value: `+
				`"http1"`, about("Deployment", "apps", "trainer",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueDuplicate,
					Field:   "spec.template.spec.containers[0].ports[1].name",
					Message: `Duplicate value: "http1"`})), Invalid},
		"immutable": {statusError(422, metav1.StatusReasonInvalid,
			`Deployment.apps "trainer" is invalid: spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: field is `+
				`immutable`, about("Deployment", "apps", "trainer",
				metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.selector",
					Message: `Invalid value: {"matchLabels":{"a":"b"}}: field is immutable`})), Immutable},
		"already-there": {statusError(409, metav1.StatusReasonAlreadyExists,
			`deployments.apps "trainer" already exists`,
			deployments), Conflict},
		"changed": {statusError(409, metav1.StatusReasonConflict,
			`Operation cannot be fulfilled on deployments.apps "trainer": the object has been modified; please apply `+
				`your changes to the latest version and try again`, deployments), Conflict},
		// An apply with the UID of an object that was replaced. If the object was deleted, it is a conflict.
		"replaced": {statusError(422, metav1.StatusReasonInvalid,
			`Deployment.apps "trainer" is invalid: metadata.uid: Invalid value: "u": field is immutable`,
			about("Deployment", "apps", "trainer", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid,
				Field: "metadata.uid", Message: `Invalid value: "u": field is immutable`})), Conflict},
		"overloaded": {statusError(429, metav1.StatusReasonTooManyRequests,
			"the server has received too many requests and has asked us to try again later", nil), Unreachable},
		"starting": {statusError(503, metav1.StatusReasonServiceUnavailable, "storage is (re)initializing", nil),
			Unreachable},
		"stopping": {statusError(422, metav1.StatusReasonInvalid, kubetest.NoAddress, about("Service", "", "trainer",
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.clusterIPs",
				Message: kubetest.NoAddressCause})), Unreachable},
		"broken": {statusError(500, metav1.StatusReasonInternalError, "Internal error occurred: etcdserver: no leader",
			nil), Other},
		"wrong-address": {tried(&net.OpError{Op: "dial", Net: "tcp",
			Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 6443},
			Err:  errors.New("connect: connection refused")}), Unreachable},
		"wrong-name": {tried(&net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true}}), Unreachable},
		"not-tls": {tried(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}),
			Unreachable},
		"unknown-ca": {tried(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), Unreachable},
		"other-host": {tried(x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"kubernetes"}},
			Host: "api.example.com"}), Unreachable},
		"expired-cert": {x509.CertificateInvalidError{Reason: x509.Expired, Detail: "current time is after 2026-01-01"},
			Unreachable},
		"reset": {fmt.Errorf("read: %w", &net.OpError{Op: "read", Net: "tcp",
			Err: errors.New("connection reset by peer")}), Unreachable},
		"interrupted":   {tried(context.Canceled), Canceled},
		"out-of-time":   {tried(context.DeadlineExceeded), Canceled},
		"misconfigured": {&config.Error{Err: errors.New("no cluster is configured")}, Misconfigured},
		"unexpected":    {errors.New("unexpected end of JSON input"), Other},
	}
}

// knativePods is the denial of a dry run by the webhook of Knative, because of a pod.
func knativePods(rejection string) string {
	return `admission webhook "validation.webhook.serving.knative.dev" denied the request: validation callback ` +
		`failed: dry run failed with ` + rejection + `: spec.template`
}

func trainerFailure(t *testing.T, err error) *Error {
	t.Helper()
	var failure *Error
	if !errors.As(Wrap("apply", trainer(), err), &failure) {
		t.Fatal("not wrapped")
	}
	return failure
}

func TestFailuresAreClassified(t *testing.T) {
	t.Parallel()
	for name, test := range failures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := trainerFailure(t, test.err)
			if failure.Class != test.class {
				t.Errorf("class %d, want %d", failure.Class, test.class)
			}
			if !errors.Is(failure, test.err) {
				t.Error("the original error is lost")
			}
			if again := Wrap("read", trainer(), fmt.Errorf("once more: %w", failure)); ClassOf(again) != test.class {
				t.Errorf("wrapped again it is of class %d", ClassOf(again))
			}
			if gone := IsNotFound(failure); gone != (test.class == NotFound || test.class == NamespaceMissing) {
				t.Errorf("IsNotFound is %v", gone)
			}
		})
	}
}

// The API server names "spec.template.spec" of a suspended Job, whose value is all of its pods.
func TestAnImmutableFieldIsRecognizedBehindALongValue(t *testing.T) {
	t.Parallel()
	message := "Invalid value: {" + strings.Repeat("x", 5000) + "}: field is immutable"
	failure := trainerFailure(t, statusError(422, metav1.StatusReasonInvalid, `Deployment.apps "trainer" is invalid`,
		about("Deployment", "apps", "trainer", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid,
			Field: "spec.template.spec", Message: message})))
	if failure.Class != Immutable || len(failure.Fields) != 1 || failure.Fields[0].Message == message {
		t.Errorf("class %d, want %d, with one field: %.200v", failure.Class, Immutable, failure.Fields)
	}
}

// A rejected pod template contains the values of environment variables.
func TestRejectedObjectsAreNotQuoted(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, test := range map[string]struct{ message, want string }{
		"an object": {
			`Job.batch "a" is invalid: spec.template: Invalid value: {"env":[{"name":"A","value":"]}` + long +
				`"}]}: field is immutable`,
			`Job.batch "a" is invalid: spec.template: Invalid value: {…}: field is immutable`},
		"several": {
			`[a: Invalid value: {"b":"` + long + `"}: no, b: Invalid value: [{"c":"` + long +
				`"}]: no, c: Required value]`,
			`[a: Invalid value: {…}: no, b: Invalid value: {…}: no, c: Required value]`},
		"an object of Go": {
			`spec.template: Invalid value: core.PodTemplateSpec{Spec:core.PodSpec{Env:"` + long +
				`"}}: field is immutable`,
			`spec.template: Invalid value: {…}: field is immutable`},
		"an object that was cut": {`a: Invalid value: {"b":"` + long, `a: Invalid value: {…}`},
		"a short one":            {`a: Invalid value: {"b":1}: no`, `a: Invalid value: {"b":1}: no`},
		"a text":                 {`a: Invalid value: "` + long + `": no`, `a: Invalid value: "` + long + `": no`},
	} {
		failure := trainerFailure(t, statusError(422, metav1.StatusReasonInvalid, test.message,
			about("Deployment", "apps", "trainer", metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid,
				Field: "a", Message: test.message})))
		if got := failure.Err.Error(); got != test.want || failure.Fields[0].Message != test.want {
			t.Errorf("%s: %s, %s", name, got, failure.Fields[0].Message)
		}
	}
}

// Kueue 0.19 denies such changes of a LeaderWorkerSet in a queue
// (pkg/controller/jobs/leaderworkerset/leaderworkerset_webhook.go in sigs.k8s.io/kueue).
func TestAWebhookReportsImmutableFieldsOfWorkloads(t *testing.T) {
	t.Parallel()
	set := row(kind.LeaderWorkerSetGroup, "LeaderWorkerSet")
	const size, resources = "spec.leaderWorkerTemplate.size: Invalid value: ",
		"spec.leaderWorkerTemplate.workerTemplate.spec.containers[0].resources.requests: Invalid value: null: "
	for name, c := range map[string]struct {
		kind   Kind
		denial string
		want   Class
	}{
		"the size of the groups":   {set, size + "4: field is immutable", Immutable},
		"a size that is not valid": {set, size + "0: size must be equal or greater than 1", Refused},
		"several fields": {set, "[" + size + "4: field is immutable, " + resources + "field is immutable]",
			Immutable},
		"the resources of a pod": {set, resources + "field is immutable", Immutable},
		"a required field":       {set, "spec.replicas: Required value: field is immutable", Refused},
		"an object that may contain data": {kind.PersistentVolumeClaim(),
			"spec.x: Invalid value: 1: field is immutable", Refused},
	} {
		err := Wrap("apply", Ref{Kind: c.kind, Namespace: "ml", Name: "trainer"}, statusError(403,
			metav1.StatusReasonForbidden, `admission webhook "vleaderworkerset.kb.io" denied the request: `+c.denial,
			about(c.kind.Kind, c.kind.Group, "trainer")))
		if got := ClassOf(err); got != c.want {
			t.Errorf("%s: class %d, want %d", name, got, c.want)
		}
	}
}

// Kubernetes up to 1.36 does so by default (ValidateHorizontalPodAutoscaler in pkg/apis/autoscaling/validation).
func TestRejectedScaleToZeroNamesTheMinimum(t *testing.T) {
	t.Parallel()
	failure := trainerFailure(t, statusError(422, metav1.StatusReasonInvalid, "invalid",
		about("HorizontalPodAutoscaler", "autoscaling", "trainer", metav1.StatusCause{
			Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.minReplicas",
			Message: "Invalid value: 0: must be greater than or equal to 1"})))
	failure.Ref.Kind = kind.HorizontalPodAutoscaler()
	_, cause := failure.Explain()
	hint := cause.Hint.In(map[advice.Field]string{advice.MinScale: "`min_scale`"})
	if !strings.Contains(hint, "`min_scale`") || !strings.Contains(hint, "HPAScaleToZero") {
		t.Errorf("next step: %s", hint)
	}
}

// explained returns the text of an error in the words of Kubernetes.
func explained(err interface{ Explain() (string, ready.Cause) }) (summary, detail string) {
	summary, cause := err.Explain()
	return summary, ready.Explain(&cause, nil)
}

func TestErrorDetailsExplainTheFailure(t *testing.T) {
	t.Parallel()
	cases := map[string]*Error{}
	for name, test := range failures() {
		cases[name] = trainerFailure(t, test.err)
	}
	denied := *cases["rbac-or-admission"]
	denied.Class = Denied // as Cluster.denied finds out
	cases["rbac"] = &denied
	anonymous := denied
	anonymous.Err = errors.New(strings.Replace(denied.Err.Error(), "system:serviceaccount:ml:reader",
		"system:anonymous", 1))
	cases["no-credentials"] = &anonymous
	delete(cases, "rbac-or-admission")
	list := Wrap("list", Ref{Kind: kind.Deployment(), Namespace: "ml"},
		tried(&net.OpError{Op: "dial", Net: "tcp", Err: errors.New("i/o timeout")}))
	if !errors.As(list, new(*Error)) {
		t.Fatal("not wrapped")
	}
	cases["list"] = list.(*Error) //nolint:errorlint // just looked
	for name, failure := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summary, detail := explained(failure)
			got := summary + "\n\n" + detail + "\n"
			file := filepath.Join("testdata", "errors", name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got), -update accepts it:\n%s", diff)
			}
		})
	}
}

func TestMissingPermissionAndAdmissionAreDistinguishedByAnAccessReview(t *testing.T) {
	t.Parallel()
	forbidden := statusError(403, metav1.StatusReasonForbidden, "forbidden", about("deployments", "apps", "trainer"))
	anonymous := statusError(403, metav1.StatusReasonForbidden, `deployments.apps "trainer" is forbidden: User `+
		`"system:anonymous" cannot patch resource "deployments"`, about("deployments", "apps", "trainer"))
	apply, get, list, watch := []string{"patch", "create"}, []string{"get"}, []string{"list"}, []string{"watch"}
	for name, test := range map[string]struct {
		verbs   []string
		may     map[string]bool // nil: the server does not say
		err     error
		class   Class
		nothing bool // is asked
	}{
		"no permission to patch": {apply, map[string]bool{"patch": false, "create": true}, forbidden, Denied, false},
		"permission, so admission rejected it": {apply, map[string]bool{"patch": true, "create": true}, forbidden,
			Refused, false},
		"no permission to get":                   {get, map[string]bool{"get": false}, forbidden, Denied, true},
		"a read that the review allows":          {list, map[string]bool{"list": true}, forbidden, Denied, true},
		"a watch that the review allows":         {watch, map[string]bool{"watch": true}, forbidden, Denied, true},
		"the server does not report permissions": {apply, nil, forbidden, Refused, false},
		"no credentials":                         {apply, nil, anonymous, Denied, true},
		"the status of a policy": {apply, map[string]bool{"patch": false},
			statusError(422, metav1.StatusReasonInvalid, "denied request", nil), Refused, true},
		"another failure": {apply, map[string]bool{"patch": false},
			statusError(500, metav1.StatusReasonInternalError, "x", nil), Other, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
				if test.nothing || !strings.HasSuffix(path, "/selfsubjectaccessreviews") {
					t.Errorf("asked for %s", path)
				}
				if test.may == nil {
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				}
				return kubetest.Reviewed(request, func(verb string) bool { return test.may[verb] })
			}})
			err := cluster.API.denied(t.Context(), trainer(), Wrap("apply", trainer(), test.err), test.verbs...)
			if got := ClassOf(err); got != test.class {
				t.Errorf("class %d, want %d", got, test.class)
			}
		})
	}
}

func TestMessagesOfTheServerAreIndentedAndLimited(t *testing.T) {
	t.Parallel()
	text := "denied\x1b[2J\nApply complete!" + strings.Repeat("x", 10_000)
	err := Wrap("apply", trainer(), statusError(422, metav1.StatusReasonInvalid, text,
		about("Deployment", "apps", "trainer", metav1.StatusCause{Field: "spec.x", Message: text})))
	e, ok := errors.AsType[*Error](err)
	if !ok || len(e.Fields) != 1 {
		t.Fatalf("%#v", err)
	}
	for what, got := range map[string]string{"message": e.Err.Error(), "cause": e.Fields[0].Message} {
		if !strings.HasPrefix(got, "denied\n  Apply complete!x") || len(got) > 5000 {
			t.Errorf("%s: %d bytes: %.40q", what, len(got), got)
		}
	}
}

func TestNoErrorIsNotWrapped(t *testing.T) {
	t.Parallel()
	if err := Wrap("apply", trainer(), nil); err != nil {
		t.Error(err)
	}
	if ClassOf(nil) != Other || IsNotFound(nil) {
		t.Error("nil has a class")
	}
}
