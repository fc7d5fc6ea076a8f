package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
)

// Server-side apply creates or changes an object, and responds with status 201
// or 200 respectively, also in a dry run
// (https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/endpoints/handlers/patch.go,
// wasCreated). A creation therefore needs no separate request that checks
// whether the name is free.

// absentTime is the validity of the observed absence of an object before its
// creation. [Cluster.ApplyNew] detects an object that appears in the meantime.
const absentTime = 15 * time.Second

// DryRunNew is DryRun for an object to be created. created reports that the
// apply would create it. If it is false and there is no error, the apply would
// change an existing object.
func (c *Cluster) DryRunNew(
	ctx context.Context, obj *unstructured.Unstructured,
) (after *unstructured.Unstructured, created bool, err error) {
	ref, err := c.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, false, err
	}
	ctx, sent := transport.WithOutcome(ctx)
	after, err = c.patch(ctx, ref, obj, true)
	created = err == nil && sent.Created()
	if created {
		c.absences.Store(ref.Key(), c.API.clock.Now())
	}
	return after, created, err
}

// Look returns the existing object with the name of an object to be created, or
// nil. It reads the object only if neither a dry run nor a list of the names
// has just shown its absence.
func (c *Cluster) Look(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	if c.absent(ctx, ref) {
		return nil, nil
	}
	live, err := c.API.Get(ctx, ref)
	if IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

func (c *Cluster) absent(ctx context.Context, ref Ref) bool {
	found, _ := c.absences.LoadAndDelete(ref.Key())
	seen, _ := found.(time.Time)
	if c.Store.has(ref) {
		return false
	}
	if c.API.clock.Since(seen) < absentTime {
		return true
	}
	names := c.names(ctx, ref)
	return names != nil && !names[ref.Name]
}

// names returns the names of all objects of the kind and in the namespace of
// ref, or nil if unknown. All calls within absentTime share one list.
func (c *Cluster) names(ctx context.Context, ref Ref) map[string]bool {
	valid := func(names map[string]bool, age time.Duration) bool { return names == nil || age < absentTime }
	scope := Ref{Kind: ref.Kind, Namespace: ref.Namespace}
	names, _ := recallWhile(c.API, "names "+scope.Key(), valid, func() (map[string]bool, error) {
		return c.API.listNames(ctx, scope), nil // reading an object returns the same error
	})
	return names
}

// namesOnly requests a table with the name as its first column, instead of the
// objects
// (https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).
const namesOnly = "application/json;as=Table;g=meta.k8s.io;v=v1, application/json"

func (a *API) listNames(ctx context.Context, scope Ref) map[string]bool {
	conn, err := a.connect()
	if err != nil {
		return nil
	}
	data, _ := scope.of(conn.rest.Get()).WarningHandler(rest.NoWarnings{}).
		SetHeader("Accept", namesOnly).Param("includeObject", string(metav1.IncludeNone)).Do(ctx).Raw()
	return namesIn(data)
}

// namesIn returns the names in a table, or nil if data is not a table or has no
// names.
func namesIn(data []byte) map[string]bool {
	var table metav1.Table
	if json.Unmarshal(data, &table) != nil || table.Kind != "Table" || table.Continue != "" {
		return nil
	}
	names := map[string]bool{}
	column := slices.IndexFunc(table.ColumnDefinitions, func(definition metav1.TableColumnDefinition) bool {
		return definition.Format == "name" // the primary identifier
	})
	for _, row := range table.Rows {
		if column < 0 || column >= len(row.Cells) {
			return nil
		}
		name, ok := row.Cells[column].(string)
		if !ok {
			return nil
		}
		names[name] = true
	}
	return names
}

// ExistsError reports that an apply should have created an object, but another
// client had created it since the last read.
type ExistsError struct {
	Ref Ref
	// Sent is the applied object, and Live the object afterwards.
	Sent, Live *unstructured.Unstructured
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s was created by another client at the same time", e.Ref)
}

// ApplyNew is Apply for an object that does not exist. It does not take over
// fields. If another client has created the object since with another value of
// a field, it returns an error of the class Conflict, and nothing was written.
// An *ExistsError means that fields without a manager and fields of this
// provider, possibly from another state, were written.
func (c *Cluster) ApplyNew(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref, err := c.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	ctx, sent := transport.WithOutcome(ctx)
	applied, err := c.API.applyOnce(ctx, ref, obj, false, false)
	switch {
	case ClassOf(err) == Conflict && sent.Doubtful() && c.isCreated(ctx, ref, obj):
		applied, err = c.API.applyOnce(ctx, ref, obj, true, false) // and another client has changed it since
	case err == nil && !sent.Created() && !sent.Doubtful():
		return nil, &ExistsError{Ref: ref, Sent: obj, Live: applied}
	}
	if err == nil {
		c.Store.note(ref, applied)
	}
	return applied, err
}

// isCreated reports whether an earlier attempt, whose response was lost, has
// created the object with the name: it has the ID of the creation that obj has.
func (c *Cluster) isCreated(ctx context.Context, ref Ref, obj *unstructured.Unstructured) bool {
	read := c.API.Get
	if ref.isSecret() {
		read = c.API.SecretMetadata
	}
	live, err := read(ctx, ref)
	sent := obj.GetAnnotations()
	id := cmp.Or(sent[UnfinishedAnnotation], sent[CreationAnnotation])
	return err == nil && id != "" && CreationOf(live) == id
}

// Withdraw removes the fields that the provider wrote into an object of another
// client, which restores the object. If that would also remove other fields,
// such as fields without a manager, it removes only the managed fields entries
// of the provider, and returns an error.
func (c *Cluster) Withdraw(ctx context.Context, found *ExistsError) error {
	empty := found.Ref.Kind.Named(found.Ref.Namespace, found.Ref.Name)
	empty.SetUID(found.Live.GetUID()) // only this object of the name
	after, err := c.API.applyOnce(ctx, found.Ref, empty, true, true)
	if err == nil && !losesMore(fields.Content(found.Live), fields.Content(after), fields.Content(found.Sent)) {
		_, err = c.API.applyOnce(ctx, found.Ref, empty, true, false)
		return err
	}
	if err := c.SetRecords(ctx, found.Ref, found.Live, recordsOfOthers); err != nil {
		return err
	}
	return errors.New("fields without a manager would also be removed")
}

// recordsOfOthers returns the [Records] without those of the provider.
func recordsOfOthers(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
	entries := live.GetManagedFields()
	others := slices.DeleteFunc(slices.Clone(entries), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == Manager
	})
	return others, len(others) < len(entries), nil
}

// losesMore reports whether after lacks a value of live that was not sent. An
// item of a list counts as sent if it is equal to the sent item.
func losesMore(live, after, sent any) bool {
	if items, isList := live.([]any); isList {
		left, _ := after.([]any)
		ours, _ := sent.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return !contains(left, item) && !contains(ours, item) })
	}
	fields, isMap := live.(map[string]any)
	if !isMap {
		return sent == nil && !equality.Semantic.DeepEqual(live, after)
	}
	left, _ := after.(map[string]any)
	ours, _ := sent.(map[string]any)
	for name, value := range fields {
		if losesMore(value, left[name], ours[name]) {
			return true
		}
	}
	return false
}

func contains(items []any, item any) bool {
	return slices.ContainsFunc(items, func(one any) bool { return equality.Semantic.DeepEqual(one, item) })
}
