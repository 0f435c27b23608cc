// Package conversion converts the kinds of add-ons between their stored version v1alpha1 and v1beta1.
//
// A kind is a list of sections: fields that mean the same in both versions, and how each side follows from the other. What a
// version cannot express is kept in an annotation of the converted object, and used by the way back as long as the fields that
// follow from it are unchanged. So a client of one version never loses what a client of the other has written.
//
// It owns the rules of conversion and the endpoint that the API server calls. Another package registers the endpoint. The
// invariant: converting an object there and back changes nothing.
package conversion
