package claim_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
)

func datasets() claim.Claim {
	class := "shared"
	return claim.Claim{
		Name: "datasets", Namespace: "ml", Size: resource.MustParse("1024Mi"), AccessMode: "ReadWriteMany",
		StorageClass: &class, MountPath: "/datasets",
		Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"owner": "alice"},
	}
}

func TestRenderSetsTheMetadataOfKubetorch(t *testing.T) {
	t.Parallel()
	c := datasets()
	c.DefaultLabels, c.DefaultAnnotations = map[string]string{"org": "x", "team": "web"},
		map[string]string{"owner": "bob", "cost": ""}
	object, err := claim.Render(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := manifest.JSON(object)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{` +
		`"annotations":{"cost":"","kubetorch.com/mount-path":"/datasets","owner":"alice"},` +
		`"labels":{"app":"kubetorch","app.kubernetes.io/managed-by":"terraform-provider-kt",` +
		`"kubetorch.com/volume":"datasets","org":"x","team":"ml"},` +
		`"name":"datasets","namespace":"ml"},` +
		`"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}},` +
		`"storageClassName":"shared"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRenderDistinguishesNoClassFromTheDefaultClass(t *testing.T) {
	t.Parallel()
	none := ""
	for name, test := range map[string]struct {
		class *string
		want  any
		named bool
	}{
		"none":               {&none, "", true},
		"left to Kubernetes": {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := datasets()
			c.StorageClass, c.VolumeName, c.MountPath, c.Annotations = test.class, "by-hand", "", nil
			object, err := claim.Render(c)
			if err != nil {
				t.Fatal(err)
			}
			spec, _ := object.Object["spec"].(map[string]any)
			if got, named := spec["storageClassName"]; got != test.want || named != test.named {
				t.Errorf("storageClassName is %v (%t), want %v (%t)", got, named, test.want, test.named)
			}
			if spec["volumeName"] != "by-hand" || object.GetAnnotations() != nil {
				t.Errorf("got %v", object.Object)
			}
		})
	}
}

func TestObserveIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	want := datasets()
	want.VolumeName = "by-hand"
	object, err := claim.Render(want)
	if err != nil {
		t.Fatal(err)
	}
	got := claim.Observe(object)
	if got.Size.Cmp(want.Size) != 0 {
		t.Errorf("size is %s, want %s", got.Size.String(), want.Size.String())
	}
	got.Size = want.Size
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestRenderRejectsChangedReservedLabels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(*claim.Claim)
		attribute string // "" where nothing is wrong
	}{
		"another volume's label": {func(c *claim.Claim) { c.Labels = map[string]string{claim.VolumeLabel: "other"} },
			"labels"},
		"its own label": {func(c *claim.Claim) { c.Labels = map[string]string{claim.VolumeLabel: "datasets"} },
			""},
		"another app": {func(c *claim.Claim) { c.Labels = map[string]string{kind.AppLabel: "web"} }, ""},
		"managed by another": {func(c *claim.Claim) {
			c.DefaultLabels = map[string]string{kind.ManagedByLabel: "helm"}
		}, "labels"},
		"another mount path": {func(c *claim.Claim) {
			c.Annotations = map[string]string{claim.MountPathAnnotation: "/x"}
		}, "annotations"},
		"a mount path as an annotation": {func(c *claim.Claim) {
			c.MountPath, c.Annotations = "", map[string]string{claim.MountPathAnnotation: "/x"}
		}, "annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := datasets()
			test.change(&c)
			_, err := claim.Render(c)
			var found manifest.Errors
			switch {
			case test.attribute == "" && err != nil:
				t.Errorf("got %v, want nothing", err)
			case test.attribute == "":
			case !errors.As(err, &found) || len(found) != 1 || found[0].Path.String() != test.attribute:
				t.Errorf("got %v, want one error of %s", err, test.attribute)
			}
		})
	}
}

func TestCanBecomeComparesImmutableFields(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*claim.Claim)
		want   bool
	}{
		"nothing":              {func(*claim.Claim) {}, true},
		"labels":               {func(c *claim.Claim) { c.Labels = nil }, true},
		"the class":            {func(c *claim.Claim) { c.StorageClass = new(string) }, false},
		"a class for any":      {func(c *claim.Claim) { c.StorageClass = nil }, true},
		"the access mode":      {func(c *claim.Claim) { c.AccessMode = "ReadWriteOnce" }, false},
		"the size":             {func(c *claim.Claim) { c.Size = resource.MustParse("2Gi") }, false},
		"the PersistentVolume": {func(c *claim.Claim) { c.VolumeName = "by-hand" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was, err := claim.Render(datasets())
			if err != nil {
				t.Fatal(err)
			}
			c := datasets()
			test.change(&c)
			will, err := claim.Render(c)
			if err != nil {
				t.Fatal(err)
			}
			if got := claim.CanBecome(was, will); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// class returns a StorageClass. Default ones have an age in days.
func class(name, provisioner string, defaultFor int) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
	if defaultFor > 0 {
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		c.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC).AddDate(0, 0, -defaultFor))
	}
	return c
}

func TestChooseReturnsASharedClassForReadWriteMany(t *testing.T) {
	t.Parallel()
	const ebs, nfs, ceph, efs = "ebs.csi.aws.com", "nfs.csi.k8s.io", "cephfs.csi.ceph.com", "efs.csi.aws.com"
	beta := class("beta", ebs, 0)
	beta.Annotations = map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}
	unmarked := class("unmarked", ebs, 0)
	unmarked.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "false"}
	for name, test := range map[string]struct {
		mode    string
		classes []*storagev1.StorageClass
		want    string
	}{
		"no classes":                   {"ReadWriteMany", nil, ""},
		"no default":                   {"ReadWriteOnce", []*storagev1.StorageClass{class("a", ebs, 0), unmarked}, ""},
		"no default, none that shares": {"ReadWriteMany", []*storagev1.StorageClass{class("a", ebs, 0)}, ""},
		"NFS for many writers": {"ReadWriteMany", []*storagev1.StorageClass{class("a", ebs, 1), class("z", nfs, 0)},
			"z"},
		"CephFS for many writers": {"ReadWriteMany", []*storagev1.StorageClass{class("a", ebs, 1), class("z", ceph, 0)},
			"z"},
		"the first of several that share": {"ReadWriteMany",
			[]*storagev1.StorageClass{class("z", nfs, 0), class("m", ceph, 0), class("a", ebs, 1)}, "m"},
		"the default one of several": {"ReadWriteMany", []*storagev1.StorageClass{class("a", nfs, 0),
			class("z", nfs, 1)}, "z"},
		"EFS beside the default disks": {"ReadWriteMany", []*storagev1.StorageClass{class("efs-sc", efs, 0),
			class("gp3", ebs, 1)}, "efs-sc"},
		"no disk for many writers": {"ReadWriteMany",
			[]*storagev1.StorageClass{class("a", ebs, 0), class("b", ebs, 1)}, ""},
		"no disk of Rook for many writers": {"ReadWriteMany",
			[]*storagev1.StorageClass{class("a", "rook-ceph.rbd.csi.ceph.com", 1)}, ""},
		"the default of an unknown provisioner": {"ReadWriteMany",
			[]*storagev1.StorageClass{class("a", ebs, 0), class("b", "example.com/files", 1)}, "b"},
		"the default of one node": {"ReadWriteMany",
			[]*storagev1.StorageClass{class("a", "rancher.io/local-path", 1)}, "a"},
		"the default for one writer": {"ReadWriteOnce", []*storagev1.StorageClass{class("a", nfs, 0),
			class("b", ebs, 1)}, "b"},
		"the default for many readers": {"ReadOnlyMany", []*storagev1.StorageClass{class("a", nfs, 0),
			class("b", ebs, 1)}, "b"},
		"the newest of several defaults": {"ReadWriteOnce",
			[]*storagev1.StorageClass{class("a", ebs, 3), class("b", ebs, 1), class("c", ebs, 2)}, "b"},
		"by name of equally old ones": {"ReadWriteOnce", []*storagev1.StorageClass{class("b", ebs, 1),
			class("a", ebs, 1)}, "a"},
		"the mark from before Kubernetes 1.6": {"ReadWriteOnce", []*storagev1.StorageClass{class("a", ebs, 0), beta},
			"beta"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ""
			if chosen := claim.Choose(test.mode, test.classes); chosen != nil {
				got = chosen.Name
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProvisionersThatShareVolumes(t *testing.T) {
	t.Parallel()
	for provisioner, want := range map[string]struct{ shares, cannot bool }{
		"efs.csi.aws.com":                       {shares: true},
		"fsx.csi.aws.com":                       {shares: true},
		"fsx.openzfs.csi.aws.com":               {shares: true},
		"filestore.csi.storage.gke.io":          {shares: true},
		"lustre.csi.storage.gke.io":             {shares: true},
		"file.csi.azure.com":                    {shares: true},
		"kubernetes.io/azure-file":              {shares: true},
		"azurelustre.csi.azure.com":             {shares: true},
		"nfs.csi.k8s.io":                        {shares: true},
		"cephfs.csi.ceph.com":                   {shares: true},
		"rook-ceph.cephfs.csi.ceph.com":         {shares: true},
		"openshift-storage.cephfs.csi.ceph.com": {shares: true},
		"ebs.csi.aws.com":                       {cannot: true},
		"pd.csi.storage.gke.io":                 {cannot: true},
		"disk.csi.azure.com":                    {cannot: true},
		"rbd.csi.ceph.com":                      {cannot: true},
		"rook-ceph.rbd.csi.ceph.com":            {cannot: true},
		"rancher.io/local-path":                 {cannot: true},
		"example.com/unknown":                   {},
		"notcephfs.csi.ceph.com":                {},
	} {
		classes := []*storagev1.StorageClass{class("x", provisioner, 0)}
		if got := len(claim.Sharing(classes)) == 1; got != want.shares {
			t.Errorf("%s shares volumes: %t, want %t", provisioner, got, want.shares)
		}
		if got := claim.CannotShare(provisioner); got != want.cannot {
			t.Errorf("%s cannot share volumes: %t, want %t", provisioner, got, want.cannot)
		}
	}
}

func TestListShowsClassesWithTheirProvisioners(t *testing.T) {
	t.Parallel()
	got := claim.List([]*storagev1.StorageClass{class("slow", "nfs.csi.k8s.io", 0),
		class("fast", "ebs.csi.aws.com", 1)})
	if want := "fast (provisioner ebs.csi.aws.com, the default), slow (provisioner nfs.csi.k8s.io)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := claim.List(nil); got != "none" {
		t.Errorf("got %q, want none", got)
	}
}

func TestCompareOfSizes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wanted, requested, configured string
		want                          claim.Resize
	}{
		"the same in another notation":               {"1Gi", "1024Mi", "1Gi", claim.Same},
		"the same, of a larger PersistentVolume":     {"1Gi", "1Gi", "100Gi", claim.Same},
		"the same, before there is a volume":         {"1Gi", "1Gi", "", claim.Same},
		"more":                                       {"2Gi", "1Gi", "1Gi", claim.Grow},
		"more, within a larger PersistentVolume":     {"2Gi", "1Gi", "100Gi", claim.Grow},
		"a byte more":                                {"1073741825", "1Gi", "1Gi", claim.Grow},
		"less":                                       {"1Gi", "2Gi", "2Gi", claim.Shrink},
		"less by a smaller unit":                     {"1G", "1Gi", "1Gi", claim.Shrink},
		"less than a growth that failed":             {"2Gi", "100Gi", "1Gi", claim.Lower},
		"what there was before a growth that failed": {"1Gi", "100Gi", "1Gi", claim.Shrink},
		"more, before there is a volume":             {"2Gi", "1Gi", "", claim.Unbound},
		"less, before there is a volume":             {"1Gi", "2Gi", "", claim.Unbound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var configured *resource.Quantity
			if test.configured != "" {
				q := resource.MustParse(test.configured)
				configured = &q
			}
			if got := claim.Compare(resource.MustParse(test.wanted), resource.MustParse(test.requested),
				configured); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestRenderedClaimIsValidInTheAPI(t *testing.T) {
	t.Parallel()
	object, err := claim.Render(datasets())
	if err != nil {
		t.Fatal(err)
	}
	var typed corev1.PersistentVolumeClaim
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &typed,
		true); err != nil {
		t.Error(err)
	}
}

func TestBoundClaimsMayContainData(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		want   bool
	}{
		"new":             {func(*corev1.PersistentVolumeClaim) {}, false},
		"pending":         {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending }, false},
		"naming a volume": {func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" }, false},
		"bound, not yet said so": {func(c *corev1.PersistentVolumeClaim) {
			c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		}, true},
		"bound": {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }, true},
		"lost":  {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c corev1.PersistentVolumeClaim
			test.change(&c)
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&c)
			if err != nil {
				t.Fatal(err)
			}
			if got := claim.Bound(&unstructured.Unstructured{Object: object}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}
