package secret

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
)

// What a run has created it must know by its type and ID, also where there was
// no Secret before: what is destroyed afterwards is then what it replaced.
func TestCreationOfASecretIsKnownByItsID(t *testing.T) {
	t.Parallel()
	for _, creating := range []bool{true, false} {
		w := writer{creating: creating, model: model{
			Name: types.StringValue("token"), Namespace: types.StringValue("ml"), AdoptExisting: types.BoolValue(true),
		}}
		if !w.place() {
			t.Fatal("the namespace is known")
		}
		switch {
		case !creating && w.creation != nil:
			t.Error("an update has a creation")
		case creating && (w.creation == nil || w.creation.Type != "kt_secret" || w.creation.ID != "ml/token" || !w.creation.Adopt):
			t.Errorf("the creation is %+v", w.creation)
		}
	}
}
