package lifecycle

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

type model struct{ Common }

// A run identifies the objects that it created by type and ID. An object that is destroyed later is then the
// replaced one.
func TestCreationHasTheTypeAndIDOfTheResource(t *testing.T) {
	t.Parallel()
	r := Resource[model, struct{}]{Kind: Kind{Type: "kt_secret"}}
	creation := r.creation(&Common{
		Name: types.StringValue("token"), Namespace: types.StringValue("ml"), AdoptExisting: types.BoolValue(true),
	})
	if creation.Type != "kt_secret" || creation.ID != "ml/token" || !creation.Adopt {
		t.Errorf("the creation is %+v", creation)
	}
}

func TestReplacementIsRecognizedByTheNameOfTheObject(t *testing.T) {
	t.Parallel()
	prefixed := func(name string) string { return "kt-image-" + name }
	known := types.StringValue
	for name, c := range map[string]struct {
		objectName      func(string) string
		namespace, name types.String
		want            bool
	}{
		"the object has another name":   {prefixed, known("ml"), known("torch"), true},
		"the object of another image":   {prefixed, known("ml"), known("jax"), false},
		"an object of another resource": {nil, known("ml"), known("torch"), false},
		"the object has the same name":  {nil, known("ml"), known("kt-image-torch"), true},
		"another namespace":             {prefixed, known("web"), known("torch"), false},
		"an unknown name":               {prefixed, known("ml"), types.StringUnknown(), false},
		"an unknown namespace":          {prefixed, types.StringUnknown(), known("torch"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := owned.Memory{"ConfigMap/ml/kt-image-torch": {UID: "u"}}
			object := Kind{ObjectName: c.objectName}.object(&Common{Namespace: c.namespace, Name: c.name})
			if got := memory.Contains(object); got != c.want {
				t.Errorf("%v is recognized: %t, want %t", object, got, c.want)
			}
		})
	}
}

func TestResourceWithoutAWaitHasNoTimeForIt(t *testing.T) {
	t.Parallel()
	if limit := (&Resource[model, struct{}]{}).waitTimeout(&model{}); limit != 0 {
		t.Errorf("waits %s", limit)
	}
}

func TestPrivateStateThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	if diags := owned.Save(t.Context(), nil, privateStateKey, make(chan int)); !diags.HasError() {
		t.Error("saved")
	}
}
