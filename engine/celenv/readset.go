package celenv

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"

	"github.com/berth-project/berth/engine/fleet"
)

// readSet is the part of a cluster that an expression can read, computed from its text alone.
type readSet struct {
	facets fleet.Facet
	// scores are the add-on resources that the text names, sorted and distinct; anyScore is set if a name is computed.
	scores   []string
	anyScore bool
}

// lists reports whether the claims or the scores of a cluster are read, which are lists that a source may shorten.
func (r *readSet) lists() bool {
	return r.facets&fleet.FacetClaims != 0 || len(r.scores) > 0 || r.anyScore
}

func newReadSet(root ast.Expr) readSet {
	var out readSet
	out.visit(root)
	slices.Sort(out.scores)
	out.scores = slices.Compact(out.scores)
	return out
}

// visit starts with the outermost expression, so that the first path found is the longest.
func (r *readSet) visit(e ast.Expr) {
	if path, ok := accessPath(e); ok {
		r.facets |= facetOf(path)
		return
	}
	if call, ok := clusterCall(e); ok {
		r.addCall(call)
		if path, ok := accessPath(call.Target()); !ok || len(path) > 0 {
			r.visit(call.Target())
		}
		r.visit(call.Args()[0])
		return
	}
	for _, child := range children(e) {
		r.visit(child)
	}
}

// accessPath returns the names between managedCluster and e. Ok is false unless e consists only of selections below
// managedCluster.
func accessPath(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return nil, e.AsIdent() == variable
	case ast.SelectKind:
		path, ok = accessPath(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		call := e.AsCall()
		if !slices.Contains([]string{operators.Index, operators.OptIndex, operators.OptSelect}, call.FunctionName()) {
			return nil, false
		}
		name, constant := literal(call.Args()[1])
		if !constant {
			return nil, false
		}
		path, ok = accessPath(call.Args()[0])
		return append(path, name), ok
	default:
		return nil, false
	}
}

// clusterCall returns e if it is scores(argument) or claim(argument) of managedCluster, under any variable name.
func clusterCall(e ast.Expr) (call ast.CallExpr, ok bool) {
	if e.Kind() != ast.CallKind {
		return nil, false
	}
	call = e.AsCall()
	of := []string{scoresFunction, claimFunction}
	return call, slices.Contains(of, call.FunctionName()) && call.IsMemberFunction() && len(call.Args()) == 1
}

// addCall records what a call of a function of managedCluster reads.
func (r *readSet) addCall(call ast.CallExpr) {
	name, constant := literal(call.Args()[0])
	switch {
	case call.FunctionName() == claimFunction:
		r.facets |= fleet.FacetClaims
	case constant:
		r.scores = append(r.scores, name)
	default:
		r.anyScore = true
	}
}

func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	value, ok := e.AsLiteral().(types.String)
	return string(value), ok
}

func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return append([]ast.Expr{call.Target()}, call.Args()...)
		}
		return call.Args()
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var out []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			out = append(out, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return out
	case ast.StructKind:
		var out []ast.Expr
		for _, entry := range e.AsStruct().Fields() {
			out = append(out, entry.AsStructField().Value())
		}
		return out
	case ast.ComprehensionKind:
		loop := e.AsComprehension()
		return []ast.Expr{loop.IterRange(), loop.AccuInit(), loop.LoopCondition(), loop.LoopStep(), loop.Result()}
	default:
		return nil
	}
}
