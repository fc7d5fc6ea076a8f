package tf

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Document is one object in YAML or JSON. Documents with the same content are equal.
type Document = Text[document]

// DocumentType is the attribute type of Document.
type DocumentType = TextType[document]

type document struct{}

func (document) Name() string { return "manifest" }

func (document) Check(text string) error { return parses(manifest.ParseDocument)(text) }

func (document) Same(a, b string) bool {
	return parseSame(manifest.ParseDocument, func(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }, a, b)
}

// DocumentOf converts a text to a value, and "" to null.
func DocumentOf(text string) Document { return textOf[document](text) }

// KeepSameDocument is like KeepSameQuantity, but for documents.
func KeepSameDocument() planmodifier.String { return keepSame[document]{} }
