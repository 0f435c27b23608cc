// Package presence follows whether the definitions of Berth's kinds are on the hub, and keeps the manager from taking for a wish what
// goes with a definition.
//
// The API server marks a definition some seconds before it deletes the objects of its kind. From then on a Guard refuses the writes of the
// manager, but for those that no definition concerns, and releases the finalizers that would keep the definition from going. When all
// definitions are there again, it refuses deletions until the objects that went are back, or ReturnGrace has passed.
//
// The caller wraps the transport of the hub with the Guard, and decides nothing while Holds. The invariant: a definition that was never
// there holds nothing.
package presence
