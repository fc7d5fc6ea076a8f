package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Lister implements a list resource, for a resource of the same type.
type Lister[M, N any] struct {
	*Resource[M, N]

	// Filters is the schema of the configuration.
	Filters func() schema.Schema
	// Search decodes a configuration.
	Search func(context.Context, tfsdk.Config) (Search, diag.Diagnostics)
}

// Search is a decoded configuration of a list resource.
type Search struct {
	Filter Filter
	// Find yields the resources of a query.
	Find func(context.Context, *Query) iter.Seq2[Item, error]
}

// Query is a request to list resources.
type Query struct {
	Cluster *kube.Cluster
	Filter  Filter
	// Namespace is the namespace to list, or "" for all.
	Namespace string
	// Listing reads other objects of the listed resources.
	Listing *kube.Listing
	// GPUTypeLabel is that of the provider block.
	GPUTypeLabel string
}

// UndecidedError reports a missing permission without which a search cannot decide which resources a filter admits. The
// search then yields no resources.
type UndecidedError struct {
	Filter string // attribute
	Err    error
}

func (e *UndecidedError) Error() string { return "cannot evaluate " + e.Filter + ": " + e.Err.Error() }

func (e *UndecidedError) Unwrap() error { return e.Err }

// Item is a resource that a query has found.
type Item struct {
	Identity owned.Identity
	Live     *unstructured.Unstructured // the first object of the resource
	Display  string                     // what people read: kind, name, properties
}

// ListResourceConfigSchema describes the filters.
func (l *Lister[M, N]) ListResourceConfigSchema(
	_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse,
) {
	resp.Schema = l.Filters()
}

// ValidateListResourceConfig reports filters that cannot be combined.
func (l *Lister[M, N]) ValidateListResourceConfig(
	ctx context.Context, req list.ValidateConfigRequest, resp *list.ValidateConfigResponse,
) {
	if search, diags := l.Search(ctx, req.Config); !diags.HasError() { // the schema reports it
		resp.Diagnostics.Append(search.Filter.validate()...)
	}
}

// List lists the resources that the search finds, until the limit of the request. An error that it yields is a warning
// if the permission to list one kind is missing, and otherwise ends the list. Resources are imported only if the
// request includes them.
func (l *Lister[M, N]) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	search, diags := l.Search(ctx, req.Config)
	var query *Query
	if !diags.HasError() {
		query, diags = l.query(search.Filter)
	}
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		var listed int64
		var denied []error
		for item, err := range search.Find(ctx, query) {
			switch {
			case ctx.Err() != nil:
				return
			case kube.ClassOf(err) == kube.Denied:
				denied = append(denied, err)
				continue
			case err != nil:
				push(list.ListResult{Diagnostics: diag.Diagnostics{tf.Failure(err)}})
				return
			case !push(l.result(ctx, req, query, item)):
				return
			}
			if listed++; req.Limit > 0 && listed >= req.Limit {
				break
			}
		}
		if len(denied) > 0 {
			push(list.ListResult{Diagnostics: diag.Diagnostics{missingKinds(denied)}})
		}
	}
}

func (l *Lister[M, N]) query(filter Filter) (*Query, diag.Diagnostics) {
	if !l.data.Configured() {
		return nil, diag.Diagnostics{diag.NewErrorDiagnostic("The configuration of the provider is not known",
			"The provider block uses a value that is not known before an apply, so the cluster to list is not known."+
				"\n\nNext step: Apply the resources that the provider block depends on, or set its values.")}
	}
	query := &Query{Cluster: l.data.Cluster, Filter: filter, GPUTypeLabel: l.data.Defaults.GPUTypeLabel}
	if !filter.AllNamespaces.ValueBool() {
		query.Namespace = filter.Namespace.ValueString()
		if filter.Namespace.IsNull() {
			namespace, err := l.data.Cluster.Namespace()
			if err != nil {
				return nil, diag.Diagnostics{diag.WithPath(path.Root("namespace"), tf.Failure(err))}
			}
			query.Namespace = namespace
		}
	}
	query.Listing = l.data.Cluster.API.Listing(query.Namespace)
	return query, nil
}

// missingKinds returns one warning about the kinds that the query could not list.
func missingKinds(denied []error) diag.Diagnostic {
	if undecided, ok := errors.AsType[*UndecidedError](denied[0]); ok {
		return diag.WithPath(path.Root(undecided.Filter), tf.Warning(undecided.Err, fmt.Sprintf("Without this "+
			"permission, `%s` cannot be evaluated. The list is empty, whether there are such resources or not.",
			undecided.Filter)))
	}
	var names []string
	for _, err := range denied {
		if e, ok := errors.AsType[*kube.Error](err); ok {
			names = append(names, e.Ref.String())
		}
	}
	return tf.Warning(denied[0], fmt.Sprintf("The list lacks the objects for which the permission is missing: %s. It "+
		"has those of other kinds.", strings.Join(names, ", ")))
}

func (l *Lister[M, N]) result(ctx context.Context, req list.ListRequest, query *Query, item Item) list.ListResult {
	result := req.NewListResult(ctx)
	result.DisplayName = item.Display
	result.Diagnostics.Append(result.Identity.Set(ctx, item.Identity)...)
	if !req.IncludeResource {
		return result
	}
	state := new(M)
	result.Resource.Raw = tf.EmptyValue(result.Resource.Raw.Type())
	result.Diagnostics.Append(result.Resource.Get(ctx, state)...) // sets the types of collections
	common := commonOf(state)
	common.Namespace, common.Name, common.ID = item.Identity.Namespace, item.Identity.Name, item.Identity.ID()
	reading := &Reading[M, N]{Data: l.data, State: state, Memory: owned.Memory{}, Live: item.Live,
		Listing: query.Listing}
	err := l.Hooks.Import(ctx, reading)
	result.Diagnostics.Append(asWarnings(reading.Diags)...)
	if err != nil && !errors.Is(err, owned.ErrGone) {
		result.Diagnostics.Append(tf.Warning(err, "The resource is listed without its attributes."))
	}
	result.Diagnostics.Append(result.Resource.Set(ctx, state)...)
	return result
}

// ListItems returns a list resource that has only the filters of [Filter], and lists the [Query.Items] of a kind. noun
// is the plural of the resources.
func ListItems[M, N any](
	k Kind, hooks Hooks[M, N], noun string, of kube.Kind, selector string, accept func(*unstructured.Unstructured) bool,
	item func(*unstructured.Unstructured) Item,
) *Lister[M, N] {
	return &Lister[M, N]{
		Resource: &Resource[M, N]{Kind: k, Hooks: hooks},
		Filters:  func() schema.Schema { return FilterSchema(noun, nil) },
		Search: func(ctx context.Context, config tfsdk.Config) (search Search, diags diag.Diagnostics) {
			search.Find = func(ctx context.Context, query *Query) iter.Seq2[Item, error] {
				return query.Items(ctx, of, selector, accept, item)
			}
			diags = config.Get(ctx, &search.Filter)
			return search, diags
		},
	}
}

// Items lists the objects of a kind as resources. It skips those that another object controls, and those that accept
// rejects. item returns the resource of an object.
func (q *Query) Items(
	ctx context.Context, of kube.Kind, selector string, accept func(*unstructured.Unstructured) bool,
	item func(*unstructured.Unstructured) Item,
) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for obj, err := range q.Objects(ctx, of, selector) {
			var found Item
			if err == nil {
				if metav1.GetControllerOf(obj) != nil || !accept(obj) {
					continue
				}
				found = item(obj)
			}
			if !yield(found, err) {
				return
			}
		}
	}
}

// asWarnings makes warnings of the errors of one import, so that the other resources are listed.
func asWarnings(diags diag.Diagnostics) diag.Diagnostics {
	var warnings diag.Diagnostics
	for _, d := range diags {
		if d.Severity() == diag.SeverityError {
			d = diag.NewWarningDiagnostic(d.Summary(), d.Detail())
		}
		warnings.Append(d)
	}
	return warnings
}

// Get returns an object of the resource: the listed one, or one from the server.
func (r *Reading[M, N]) Get(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	return r.orListed(ctx, ref, r.Data.Cluster.API.Get)
}

// Read is like [Reading.Get], but reads from the shared watch of the kind.
func (r *Reading[M, N]) Read(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	return r.orListed(ctx, ref, r.Data.Cluster.Store.Get)
}

func (r *Reading[M, N]) orListed(
	ctx context.Context, ref kube.Ref, read func(context.Context, kube.Ref) (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	switch {
	case r.Listing == nil:
		return read(ctx, ref)
	case r.Live.GroupVersionKind().GroupKind() == ref.Kind.GroupKind() && r.Live.GetName() == ref.Name:
		return r.Live, nil
	default:
		return r.Listing.Get(ctx, ref)
	}
}

// Objects lists the objects of a kind that the filter of the query admits. It yields nothing if the cluster does not
// have the kind. selector is a further label selector, or "".
func (q *Query) Objects(
	ctx context.Context, of kube.Kind, selector string,
) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		scope := kube.Ref{Kind: of, Namespace: q.Namespace}
		for obj, err := range q.Cluster.API.List(ctx, scope, q.Filter.selector(selector)) {
			switch class := kube.ClassOf(err); {
			case class == kube.NotFound, class == kube.KindMissing:
				return
			case class == kube.Denied: // the server checks permissions before it looks for the kind
				if installed, err := q.Cluster.Discovery.Installed(ctx, of); err == nil && !installed {
					return
				}
			case err == nil && !q.Filter.Managed.IsNull() && q.Filter.Managed.ValueBool() != Managed(obj):
				continue
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}

// Managed reports whether this provider manages an object.
func Managed(obj *unstructured.Unstructured) bool {
	if obj.GetLabels()[kind.ManagedByLabel] == kind.ManagedByValue {
		return true
	}
	_, ours, err := kube.OwnedFields(obj)
	return ours && err == nil
}

// Property returns a property of a listed resource as "name value", or "" without a value.
func Property(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

// ItemOf returns a resource with the namespace and the name of an object of a kind, and with the properties that are
// not empty.
func ItemOf(of kube.Kind, live *unstructured.Unstructured, properties ...string) Item {
	ref := kube.Ref{Kind: of, Namespace: live.GetNamespace(), Name: live.GetName()}
	identity := owned.Identity{Namespace: types.StringValue(ref.Namespace), Name: types.StringValue(ref.Name)}
	shown := slices.DeleteFunc(properties, func(property string) bool { return property == "" })
	return Item{Identity: identity, Live: live, Display: strings.Join(append([]string{ref.String()}, shown...), ", ")}
}
