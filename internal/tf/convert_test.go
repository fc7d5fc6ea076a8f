package tf_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type part struct {
	Name  string
	Count int32
	Ready bool
}

type whole struct {
	MinScale  *int64
	Share     *float64
	Size      *resource.Quantity
	Quota     kai.Amount
	Wait      *time.Duration
	Mode      *int32
	Args      map[string]any
	Labels    map[string]string
	Commands  []string
	Parts     []part
	ByName    map[string]part
	WithoutIt string // no attribute
}

var partType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"name": types.StringType, "count": types.Int64Type, "ready": types.BoolType, "other": types.StringType,
}}

func nullWhole() types.Object {
	return types.ObjectNull(map[string]attr.Type{
		"min_scale": types.Int64Type, "share": types.Float64Type, "size": tf.QuantityType{}, "quota": tf.LimitType{},
		"wait": tf.DurationType{}, "mode": types.StringType, "args": jsontypes.NormalizedType{},
		"labels": types.MapType{ElemType: types.StringType}, "commands": types.ListType{ElemType: types.StringType},
		"parts": types.ListType{ElemType: partType}, "by_name": types.MapType{ElemType: partType},
	})
}

func everything() whole {
	zero, share, size, wait, mode := int64(0), 0.5, resource.MustParse("1500m"), 90*time.Second, int32(0o400)
	return whole{
		MinScale: &zero, Share: &share, Size: &size, Quota: kai.Amount{Unlimited: true}, Wait: &wait, Mode: &mode,
		Args: map[string]any{"a": []any{"b"}}, Labels: map[string]string{"empty": ""}, Commands: []string{"", "b"},
		Parts: []part{{Name: "a", Count: 2, Ready: true}, {}}, ByName: map[string]part{"x": {Name: "y"}},
	}
}

func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	t.Parallel()
	c := tf.NewConverter(t.Context())
	want := everything()
	object := tf.Encode(c, nullWhole(), &want)
	var got whole
	c.Decode(path.Root("whole"), object, &got)
	if !equality.Semantic.DeepEqual(got, want) || len(c.Diags) > 0 {
		t.Errorf("got %+v of %s, %v", got, object, c.Diags)
	}
	attributes := object.Attributes()
	for name, text := range map[string]string{
		"min_scale": "0", "size": `"1500m"`, "quota": `"-1"`, "wait": `"1m30s"`, "mode": `"0400"`,
		"args": `"{\"a\":[\"b\"]}"`, "commands": `["","b"]`,
		"parts": `[{"count":2,"name":"a","other":<null>,"ready":true},` +
			`{"count":<null>,"name":<null>,"other":<null>,"ready":<null>}]`,
	} {
		if got := attributes[name].String(); got != text {
			t.Errorf("%s is %s, want %s", name, got, text)
		}
	}
	empty := tf.Encode(c, nullWhole(), &whole{Labels: map[string]string{}, Commands: []string{}})
	for name, value := range empty.Attributes() {
		if !value.IsNull() && name != "quota" {
			t.Errorf("%s is %s, want null", name, value)
		}
	}
	if none := tf.Encode(c, object, (*whole)(nil)); !none.IsNull() {
		t.Errorf("got %s, want null", none)
	}
	if zero := tf.Encode(c, types.Int64Null(), int64(0)); zero.IsNull() {
		t.Error("zero is null")
	}
}

func TestFollowKeepsTheNotationOfWhatDoesNotDiffer(t *testing.T) {
	t.Parallel()
	c := tf.NewConverter(t.Context())
	before, after := everything(), everything()
	object := tf.With(t.Context(), tf.Encode(c, nullWhole(), &before), "size", tf.QuantityOf("1.5"))
	three := int64(3)
	after.MinScale, after.Labels, after.Commands = &three, map[string]string{"empty": "", "new": "x"}, nil
	got := tf.Follow(c, object, &before, &after).Attributes()
	for name, text := range map[string]string{"size": `"1.5"`, "min_scale": "3", "labels": `{"empty":"","new":"x"}`,
		"commands": "<null>", "wait": `"1m30s"`} {
		if got[name].String() != text {
			t.Errorf("%s is %s, want %s", name, got[name], text)
		}
	}
	if same := tf.Follow(c, object, &after, &after); !same.Equal(object) || len(c.Diags) > 0 {
		t.Errorf("got %s, %v", same, c.Diags)
	}
	var none *whole
	if created := tf.Follow(c, nullWhole(), none, &before); created.IsNull() {
		t.Error("a new object is null")
	}
	if zero := tf.Follow(c, nullWhole(), none, &whole{}).Attributes()["quota"]; zero.IsNull() {
		t.Error("the zero quantity of a new object is null")
	}
	// An object that sets only defaults is not observed until one of its attributes differs.
	if kept := tf.Follow(c, object, none, &whole{MinScale: &three}).Attributes()["size"]; kept.String() != `"1.5"` {
		t.Errorf("an attribute with its default becomes %s", kept)
	}
	if removed := tf.Follow(c, object, &before, none); !removed.IsNull() {
		t.Errorf("a removed object is %s", removed)
	}
}

func TestConverterReportsInvalidTextAtItsPath(t *testing.T) {
	t.Parallel()
	c := tf.NewConverter(t.Context())
	object := tf.With(t.Context(), nullWhole(), "size", tf.QuantityOf("many"))
	object = tf.With(t.Context(), object, "args", jsontypes.NewNormalizedValue("["))
	var got whole
	c.Decode(path.Root("whole"), object, &got)
	var all []string
	for _, d := range c.Diags {
		all = append(all, d.Summary(), d.Detail())
	}
	text := strings.Join(all, "\n")
	if got.Size != nil || got.Args != nil || len(c.Diags) != 2 ||
		!strings.Contains(text, "Invalid quantity\nwhole.size is") ||
		!strings.Contains(text, "Invalid JSON\nwhole.args it must be a JSON object") {
		t.Errorf("got %+v, %s", got, text)
	}
}
