// Package assumed has the assumed caches of a manager, as kube-scheduler has assumed pods: the writes of this process that an informer does
// not show yet. A decision that follows a write is made from the write, never from the older object in the informer.
//
// What goes in: each object as the API server returned it, each deletion, and what the informer shows. What comes out: each object as it is
// most probably stored. It never reads from the API server, and a later version by another client always counts.
//
// There is one rule for the end of an assumption:
//
//	assumed    the informer                                  it ends
//	a write    shows that version, or a later one            at once
//	a write    shows the deletion of that object             at once
//	a write    shows an earlier version                      with a later one: an informer that lags catches up
//	a write    does not have the object                      after Timeout: an object that was created and deleted while a
//	                                                         watch was broken is never shown
//	deletion   shows that the object is gone, or another     at once
//	deletion   shows the object, perhaps terminating         once it is gone: an informer that lags catches up
package assumed
