package kube

import (
	"context"
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pageSize limits the part of a large list in memory.
const pageSize = 500

// eachPage lists the objects of the kind and namespace of ref from the server,
// and passes each page to take. Objects that take does not keep are released
// with the next page. T is a list such as corev1.PodList.
func eachPage[T any, L interface {
	*T
	metav1.ListInterface
}](ctx context.Context, c *Cluster, ref Ref, options metav1.ListOptions, take func(page L)) error {
	conn, err := c.connect()
	if err != nil {
		return wrap("list", ref, err)
	}
	path := "/api/v1/"
	if ref.Kind.Group != "" {
		path = "/apis/" + ref.Kind.Group + "/" + ref.Kind.Version + "/"
	}
	if ref.Namespace != "" {
		path += "namespaces/" + ref.Namespace + "/"
	}
	token := ""
	for {
		request := conn.rest.Get().AbsPath(path+ref.Kind.Resource).SetHeader("Accept", "application/json").
			Param("limit", strconv.Itoa(pageSize))
		for name, value := range map[string]string{"continue": token, "labelSelector": options.LabelSelector,
			"fieldSelector": options.FieldSelector} {
			if value != "" {
				request = request.Param(name, value)
			}
		}
		result := request.Do(ctx) // unlike DoRaw, it keeps the server's reason
		if err := result.Error(); err != nil {
			return c.denied(ctx, "list", Ref{Kind: ref.Kind, Namespace: ref.Namespace}, wrap("list", ref, err))
		}
		data, err := result.Raw()
		if err != nil {
			return wrap("list", ref, err)
		}
		page := L(new(T))
		if err := json.Unmarshal(data, page); err != nil {
			return wrap("list", ref, err)
		}
		take(page)
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}
