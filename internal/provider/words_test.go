package provider

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

var quoted = regexp.MustCompile("`([^`]+)`")

func TestAdviceNamesAttributesOfItsResource(t *testing.T) {
	t.Parallel()
	schemas := schemasOf(t)
	types := []string{tf.ComputeType, tf.VolumeType, tf.SecretType, tf.ImageType, tf.QueueType}
	fields := fieldsOfAdvice(t)
	if len(fields) < 20 {
		t.Fatalf("only %d fields of advice found", len(fields))
	}
	for _, field := range fields {
		worded := false
		for _, resourceType := range types {
			attributes := append(namesIn(schemas.ResourceSchemas[resourceType].Block),
				namesIn(schemas.Provider.Block)...)
			cause := ready.Cause{Summary: "-", Hint: advice.Of("%s", field)}
			text := tf.Explain(resourceType, cause, nil)
			worded = worded || text != ready.Explain(&cause, nil)
			for _, found := range quoted.FindAllStringSubmatch(text, -1) {
				name, _, _ := strings.Cut(found[1], " ")
				for segment := range strings.SplitSeq(name, ".") {
					if !slices.Contains(attributes, segment) && !ofLanguage(name) {
						t.Errorf("%s names %q, which %s does not have", field, found[1], resourceType)
					}
				}
			}
		}
		if !worded {
			t.Errorf("%s has no words of Terraform for any resource", field)
		}
	}
}

// ofLanguage reports whether a quoted text is part of Terraform itself.
func ofLanguage(name string) bool {
	return slices.Contains([]string{"terraform", "depends_on", "lifecycle", "-target", "kt_volume.….ref"}, name)
}

// fieldsOfAdvice reads the constants of the fields and steps from the source, so
// that a new one cannot be left out.
func fieldsOfAdvice(t *testing.T) []advice.Field {
	t.Helper()
	var fields []advice.Field
	for _, text := range literals(t, filepath.Join("..", "advice", "advice.go")) {
		if text != "" {
			fields = append(fields, advice.Field(text))
		}
	}
	return fields
}

func TestPackagesOfKubernetesHaveNoWordsOfTerraform(t *testing.T) {
	t.Parallel()
	schemas := schemasOf(t)
	names := namesIn(schemas.Provider.Block)
	for _, group := range []map[string]*tfprotov6.Schema{schemas.ResourceSchemas, schemas.DataSourceSchemas,
		schemas.EphemeralResourceSchemas} {
		for _, schema := range group {
			names = append(names, namesIn(schema.Block)...)
		}
	}
	words := regexp.MustCompile(`(?i)\bterraform\b|\btofu\b|depends_on|(?-i:\bkt_[a-z])`)
	for _, dir := range []string{"advice", "endpoint", "kind", "kube", "registry", "tensor"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, text := range literals(t, path) {
				// The provider's name is a field manager and a user agent.
				if words.MatchString(strings.ReplaceAll(text, "terraform-provider-kt", "")) {
					t.Errorf("%s: words of Terraform in %q", path, text)
				}
				for _, found := range quoted.FindAllStringSubmatch(text, -1) {
					if slices.Contains(names, found[1]) {
						t.Errorf("%s: attribute %s in %q: use a field of advice", path, found[1], text)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// literals returns the strings of a Go file, without the paths of its imports
// and the tags of its fields.
func literals(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return node.Tag == nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

func schemasOf(t *testing.T) *tfprotov6.GetProviderSchemaResponse {
	t.Helper()
	schemas, err := serve(t).GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// namesIn returns the names of all attributes of a block, including nested ones.
func namesIn(block *tfprotov6.SchemaBlock) []string {
	var names []string
	var add func(attributes []*tfprotov6.SchemaAttribute)
	add = func(attributes []*tfprotov6.SchemaAttribute) {
		for _, attribute := range attributes {
			names = append(names, attribute.Name)
			if attribute.NestedType != nil {
				add(attribute.NestedType.Attributes)
			}
		}
	}
	add(block.Attributes)
	for _, nested := range block.BlockTypes {
		names = append(names, nested.TypeName)
		names = append(names, namesIn(nested.Block)...)
	}
	return names
}
