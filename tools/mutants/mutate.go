package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// mutant is one small change of the product.
type mutant struct {
	id       int // 1, 2, … in the order of the files
	pkg      string
	file     string // relative to the module
	position string // line:column
	operator string
	source   string // the line, trimmed
	again    int    // number of mutants before it with the same operator and source
	tests    []testOf
}

// key identifies a mutant in the list of equivalent ones, independently of line numbers.
func (m *mutant) key() string {
	key := fmt.Sprintf("%s: %s: %s", m.file, m.operator, m.source)
	if m.again > 0 {
		key += fmt.Sprintf(" #%d", m.again+1)
	}
	return key
}

// edit replaces size bytes at an offset. Of edits at the same offset, those with the lower order come first.
type edit struct {
	offset, size, order int
	text                string
}

// mutator collects the mutants of one file, as edits that keep every line where it is.
type mutator struct {
	pkg    *packages.Package
	file   *ast.File
	source []byte
	path   string
	lines  []string
	next   func(*mutant) int
	skip   func(line int) bool
	edits  []edit
	order  int
}

// runtimeName is the name of the imported package in mutated files.
const runtimeName = "mutant__"

// mutated returns the file with all its mutants.
func (m *mutator) mutated(importPath string) []byte {
	m.lines = strings.Split(string(m.source), "\n")
	for _, declaration := range m.file.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok && function.Body != nil {
			ast.Inspect(function.Body, m.visit)
		}
	}
	if len(m.edits) == 0 {
		return nil
	}
	m.insert(m.file.Name.End(), fmt.Sprintf("; import %s %q", runtimeName, importPath))
	slices.SortStableFunc(m.edits, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.order, b.order))
	})
	var out []byte
	at := 0
	for _, e := range m.edits {
		out = append(append(out, m.source[at:e.offset]...), e.text...)
		at = e.offset + e.size
	}
	return append(out, m.source[at:]...)
}

func (m *mutator) offset(pos token.Pos) int { return m.pkg.Fset.Position(pos).Offset }

func (m *mutator) insert(pos token.Pos, text string) {
	m.edits = append(m.edits, edit{offset: m.offset(pos), text: text})
}

// add registers a mutant, and reports whether it can be compiled.
func (m *mutator) add(node ast.Node, operator string) (int, bool) {
	at := m.pkg.Fset.Position(node.Pos())
	if m.skip(at.Line) {
		return 0, false
	}
	return m.next(&mutant{pkg: m.pkg.PkgPath, file: m.path, position: fmt.Sprintf("%d:%d", at.Line, at.Column),
		operator: operator, source: strings.TrimSpace(m.lines[at.Line-1])}), true
}

// wrap puts text around a node. Of nodes with the same start, the first one is the outer one.
func (m *mutator) wrap(node ast.Node, before, after string) {
	m.order++
	m.edits = append(m.edits,
		edit{offset: m.offset(node.Pos()), order: m.order, text: before},
		edit{offset: m.offset(node.End()), order: -m.order, text: after})
}

func (m *mutator) call(node ast.Node, operator, function string) {
	if n, ok := m.add(node, operator); ok {
		m.wrap(node, fmt.Sprintf("%s.%s(%d, ", runtimeName, function, n), ")")
	}
}

func (m *mutator) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GenDecl:
		return node.Tok != token.CONST
	case *ast.ArrayType:
		return false // its length is a constant
	case *ast.BlockStmt:
		m.statements(node.List)
	case *ast.CaseClause:
		m.statements(node.Body)
	case *ast.CommClause:
		m.statements(node.Body)
	case *ast.IfStmt:
		m.condition(node.Cond)
	case *ast.ForStmt:
		m.condition(node.Cond)
	case *ast.SwitchStmt:
		m.cases(node)
	case *ast.BinaryExpr:
		m.binary(node)
	case *ast.UnaryExpr:
		_, isLiteral := node.X.(*ast.BasicLit)
		return !isLiteral // -1 means "none", and so does any other negative number
	case *ast.ReturnStmt:
		m.returned(node)
	case *ast.BasicLit:
		m.literal(node)
	}
	return true
}

// statements removes calls, assignments, deferred calls, and branches.
func (m *mutator) statements(list []ast.Stmt) {
	for _, statement := range list {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if isPanic(s.X) {
				continue // a function may end with it
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || isBlank(s.Lhs) {
				continue
			}
		case *ast.IncDecStmt, *ast.DeferStmt:
		case *ast.BranchStmt:
			if s.Tok != token.BREAK && s.Tok != token.CONTINUE {
				continue
			}
		default:
			continue
		}
		if n, ok := m.add(statement, "remove"); ok {
			m.wrap(statement, fmt.Sprintf("if !%s.On(%d) { ", runtimeName, n), " }")
		}
	}
}

func isPanic(e ast.Expr) bool {
	call, isCall := e.(*ast.CallExpr)
	if !isCall {
		return false
	}
	name, isName := call.Fun.(*ast.Ident)
	return isName && name.Name == "panic"
}

// isBlank reports whether an assignment has no effect but on the compiler.
func isBlank(left []ast.Expr) bool {
	return !slices.ContainsFunc(left, func(e ast.Expr) bool {
		name, ok := e.(*ast.Ident)
		return !ok || name.Name != "_"
	})
}

// condition negates a condition, unless binary negates it.
func (m *mutator) condition(e ast.Expr) {
	if e == nil || !m.isBool(e) {
		return
	}
	if b, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	m.call(e, "negate", "Not")
}

// cases negates the conditions of a switch without a tag, and removes the constants of one with a tag.
func (m *mutator) cases(s *ast.SwitchStmt) {
	for _, clause := range s.Body.List {
		clause, ok := clause.(*ast.CaseClause)
		if !ok {
			continue
		}
		for _, e := range clause.List {
			if s.Tag == nil {
				m.condition(e)
				continue
			}
			m.typed(e, m.pkg.TypesInfo.TypeOf(s.Tag), "case")
		}
	}
}

// binary shifts the boundary of a comparison, negates an equality, swaps && and ||, and negates their operands.
func (m *mutator) binary(e *ast.BinaryExpr) {
	if m.pkg.TypesInfo.Types[e].Value != nil {
		return // a constant
	}
	switch e.Op {
	case token.EQL, token.NEQ:
		m.call(e, "negate", "Not")
	case token.LAND:
		m.replace(e, "swap", "And", ", func() bool { return (", ") })")
		m.operands(e)
	case token.LOR:
		m.replace(e, "swap", "Or", ", func() bool { return (", ") })")
		m.operands(e)
	case token.LSS:
		m.replace(e, "boundary", "Lt", ", ", ")")
	case token.LEQ:
		m.replace(e, "boundary", "Le", ", ", ")")
	case token.GTR:
		m.replace(e, "boundary", "Gt", ", ", ")")
	case token.GEQ:
		m.replace(e, "boundary", "Ge", ", ", ")")
	default: // no condition
	}
}

// replace replaces the operator of an expression by a function.
func (m *mutator) replace(e *ast.BinaryExpr, operator, function, separator, end string) {
	if n, ok := m.add(e, operator); ok {
		m.wrap(e, fmt.Sprintf("%s.%s(%d, ", runtimeName, function, n), end)
		m.edits = append(m.edits, edit{offset: m.offset(e.OpPos), size: len(e.Op.String()), text: separator})
	}
}

// operands negates the operands that binary does not mutate.
func (m *mutator) operands(e *ast.BinaryExpr) {
	for _, operand := range []ast.Expr{e.X, e.Y} {
		if _, mutated := ast.Unparen(operand).(*ast.BinaryExpr); !mutated && m.isBool(operand) {
			m.call(operand, "negate", "Not")
		}
	}
}

// returned replaces results by zero values, and negates booleans.
func (m *mutator) returned(s *ast.ReturnStmt) {
	for i, e := range s.Results {
		if i < len(s.Results)-1 && m.isError(s.Results[len(s.Results)-1]) {
			continue // nobody may use the other results
		}
		t := m.pkg.TypesInfo.TypeOf(e)
		if _, several := t.(*types.Tuple); several || m.pkg.TypesInfo.Types[e].IsNil() {
			continue
		}
		if m.isBool(e) {
			if b, ok := ast.Unparen(e).(*ast.BinaryExpr); !ok || b.Op != token.EQL && b.Op != token.NEQ {
				m.call(e, "negate", "Not")
			}
			continue
		}
		if literal, ok := e.(*ast.CompositeLit); ok && len(literal.Elts) == 0 {
			continue
		}
		if value := m.pkg.TypesInfo.Types[e].Value; value != nil && (value.String() == "0" || value.String() == `""`) {
			continue
		}
		if implementsError(t) {
			t = types.Universe.Lookup("error").Type()
		}
		m.typed(e, t, "zero")
	}
}

// isError reports whether an expression is an error that is not nil by its syntax.
func (m *mutator) isError(e ast.Expr) bool {
	t := m.pkg.TypesInfo.Types[e]
	return !t.IsNil() && t.Type != nil && implementsError(t.Type)
}

func implementsError(t types.Type) bool {
	is, ok := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return ok && types.Implements(t, is)
}

// typed replaces an expression by the zero value of a type, if the file can name the type.
func (m *mutator) typed(e ast.Expr, t types.Type, operator string) {
	if name, ok := m.nameOf(t); ok {
		m.call(e, operator, "Zero["+name+"]")
	}
}

func (m *mutator) literal(e *ast.BasicLit) {
	if e.Kind != token.INT && e.Kind != token.FLOAT {
		return
	}
	if name, ok := m.nameOf(m.pkg.TypesInfo.TypeOf(e)); ok && !strings.HasPrefix(name, "untyped") {
		m.call(e, "constant", "Next["+name+"]")
	}
}

// nameOf returns the name of a type in the file.
func (m *mutator) nameOf(t types.Type) (string, bool) {
	ok := true
	name := types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == m.pkg.Types {
			return ""
		}
		for _, spec := range m.file.Imports {
			if strings.Trim(spec.Path.Value, `"`) == p.Path() {
				if spec.Name != nil {
					return spec.Name.Name
				}
				return p.Name()
			}
		}
		ok = false
		return p.Name()
	})
	return name, ok
}

func (m *mutator) isBool(e ast.Expr) bool {
	t := m.pkg.TypesInfo.TypeOf(e)
	return t == types.Typ[types.Bool] || t == types.Typ[types.UntypedBool]
}
