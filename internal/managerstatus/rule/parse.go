package rule

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// maxDepth bounds how deep an expression nests.
const maxDepth = 32

var errUnsupported = errors.New("the expression is not one that is evaluated here")

// parser reads an expression.
type parser struct {
	tokens []string
	at     int
	depth  int
}

// Parse reads an expression.
func Parse(text string) (*Expression, error) {
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.or()
	if err == nil && p.at < len(p.tokens) {
		err = p.unexpected()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the expression %q: %w", text, err)
	}
	return &Expression{root}, nil
}

// tokenize splits an expression into names, numbers, texts with their quotes, and operators.
func tokenize(text string) ([]string, error) {
	var out []string
	for at := 0; at < len(text); {
		char := rune(text[at])
		switch {
		case unicode.IsSpace(char):
			at++
		case char == '"' || char == '\'':
			end := strings.IndexByte(text[at+1:], text[at])
			if end < 0 {
				return nil, fmt.Errorf("a text does not end: %w", errUnsupported)
			}
			out = append(out, text[at:at+end+2])
			at += end + 2
		case isWord(char):
			end := at
			for end < len(text) && isWord(rune(text[end])) {
				end++
			}
			out = append(out, text[at:end])
			at = end
		case strings.HasPrefix(text[at:], "!=") || strings.HasPrefix(text[at:], "=~") || strings.HasPrefix(text[at:], "!~") || strings.HasPrefix(text[at:], "=="):
			out = append(out, text[at:at+2])
			at += 2
		default:
			out = append(out, string(char))
			at++
		}
	}
	return out, nil
}

func isWord(char rune) bool {
	return char == '_' || char == '.' || char == ':' || unicode.IsLetter(char) || unicode.IsDigit(char)
}

// next returns the next token without taking it; empty at the end.
func (p *parser) next() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

// take takes the next token if it is one of these.
func (p *parser) take(wanted ...string) (string, bool) {
	for _, each := range wanted {
		if p.next() == each {
			p.at++
			return each, true
		}
	}
	return "", false
}

func (p *parser) expect(token string) error {
	if _, ok := p.take(token); !ok {
		return p.unexpected()
	}
	return nil
}

func (p *parser) unexpected() error {
	if p.at >= len(p.tokens) {
		return fmt.Errorf("it ends too early: %w", errUnsupported)
	}
	return fmt.Errorf("at %q: %w", p.next(), errUnsupported)
}

// or reads "a or b", the operator that binds least.
func (p *parser) or() (node, error) {
	return p.binary(p.comparison, "or")
}

func (p *parser) comparison() (node, error) { return p.binary(p.sum, "<", ">", "==") }

func (p *parser) sum() (node, error) { return p.binary(p.product, "+", "-") }

func (p *parser) product() (node, error) { return p.binary(p.operand, "*", "/") }

// binary reads operands that operators join, from left to right.
func (p *parser) binary(operand func() (node, error), operators ...string) (node, error) {
	left, err := operand()
	for err == nil {
		operator, ok := p.take(operators...)
		if !ok {
			return left, nil
		}
		var right node
		if right, err = operand(); err == nil {
			left = operation{operator, left, right}
		}
	}
	return nil, err
}

// operand reads a number, an expression in parentheses, a call, or the series of a metric.
func (p *parser) operand() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, fmt.Errorf("it nests too deep: %w", errUnsupported)
	}
	if _, ok := p.take("("); ok {
		inner, err := p.or()
		if err != nil {
			return nil, err
		}
		return inner, p.expect(")")
	}
	word := p.next()
	if number, err := strconv.ParseFloat(word, 64); err == nil {
		p.at++
		return constant(number), nil
	}
	if word == "" || !isWord(rune(word[0])) {
		return nil, p.unexpected()
	}
	p.at++
	if p.next() == "(" || p.next() == "by" {
		return p.call(word)
	}
	return p.selector(word)
}

// call reads the rest of a call or of an aggregation.
func (p *parser) call(name string) (node, error) {
	out := call{name: name}
	if _, ok := p.take("by"); ok {
		if err := p.labels(&out); err != nil {
			return nil, err
		}
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for p.next() != ")" {
		arg, err := p.or()
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, arg)
		if _, ok := p.take(","); !ok {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	return out, out.check()
}

// labels reads the labels by which an aggregation groups.
func (p *parser) labels(of *call) error {
	if err := p.expect("("); err != nil {
		return err
	}
	for p.next() != ")" && p.next() != "" {
		of.by = append(of.by, p.next())
		p.at++
		p.take(",")
	}
	return p.expect(")")
}

// selector reads the matchers and the time of the series of a metric.
func (p *parser) selector(name string) (node, error) {
	out := selector{name: name}
	if _, ok := p.take("{"); ok {
		for p.next() != "}" {
			each, err := p.matcher()
			if err != nil {
				return nil, err
			}
			out.matchers = append(out.matchers, each)
			p.take(",")
		}
		if err := p.expect("}"); err != nil {
			return nil, err
		}
	}
	if _, ok := p.take("["); ok {
		within, err := time.ParseDuration(p.next())
		if err != nil {
			return nil, p.unexpected()
		}
		p.at++
		out.within = within
		return out, p.expect("]")
	}
	return out, nil
}

func (p *parser) matcher() (matcher, error) {
	label := p.next()
	p.at++
	operator, ok := p.take("=", "!=", "=~", "!~")
	value := p.next()
	if !ok || len(value) < 2 {
		return matcher{}, p.unexpected()
	}
	p.at++
	out := matcher{label: label, value: value[1 : len(value)-1], negated: operator[0] == '!'}
	if strings.HasSuffix(operator, "~") {
		pattern, err := regexp.Compile("^(?:" + out.value + ")$")
		if err != nil {
			return matcher{}, fmt.Errorf("the pattern of %s: %w", label, err)
		}
		out.pattern = pattern
	}
	return out, nil
}
