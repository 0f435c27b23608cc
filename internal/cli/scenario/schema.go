package scenario

import (
	_ "embed" // the schema is a file that is published unchanged
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

//go:embed scenario.schema.json
var schemaText []byte

// Schema returns the JSON schema of scenario files. The caller owns the bytes.
func Schema() []byte { return append([]byte(nil), schemaText...) }

// readSchema returns a validator for the schema.
func readSchema() (*validate.SchemaValidator, error) {
	var schema spec.Schema
	if err := json.Unmarshal(schemaText, &schema); err != nil {
		return nil, fmt.Errorf("reading the schema of scenarios: %w", err)
	}
	return validate.NewSchemaValidator(&schema, nil, "", strfmt.Default), nil
}

// splitValidationError splits an error of the validator into the path and the text.
func splitValidationError(err error) (path, text string) {
	text = err.Error()
	if at := strings.Index(text, " in body "); at >= 0 {
		path, text = text[:at], text[at+len(" in body "):]
	}
	path = strings.TrimPrefix(path, ".")
	if text == "is a forbidden property" {
		text = "is no field of a scenario; check the spelling"
	}
	return path, text
}

// fieldError returns the fault of a field; without a path, of the whole object.
func fieldError(path, text string) *field.Error {
	if path == "" {
		return &field.Error{Type: field.ErrorTypeInvalid, BadValue: field.OmitValueType{}, Detail: text}
	}
	return field.Invalid(field.NewPath(path), field.OmitValueType{}, text)
}
