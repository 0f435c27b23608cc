// Package event reports events of the agent on the hub and on the member.
//
// It owns their form. A recorder keeps a bounded number of events that are not sent, and drops others, so that no event delays
// the agent. An event that the API server refuses is logged and lost.
package event

import (
	"context"
	"log/slog"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/berth-project/berth/internal/agent/client"
)

// Reasons.
const (
	// TakenOver is an object that was there before its work.
	TakenOver = "WorkObjectTakenOver"
	// Conflict is an object that another work or another field manager owns.
	Conflict = "WorkObjectConflict"
	// Kept is an object that stays on the member without its work.
	Kept = "WorkObjectKept"
	// EvictionHeld is a cluster whose objects stay, because the hub has lost many works at once.
	EvictionHeld = "WorkEvictionHeld"
	// OlderData is a cluster whose hub or member returned to older data.
	OlderData = "OlderData"
)

const (
	component = "berth-agent"
	// maxWaiting bounds the events that are not sent, maxMessage the bytes of a message, below the limit of the API.
	maxWaiting = 64
	maxMessage = 1000
)

// Recorder sends events to one API server, in the background.
type Recorder struct {
	client  *client.Client
	clock   clock.PassiveClock
	log     *slog.Logger
	waiting chan *corev1.Event
}

// New returns a recorder that sends while Run runs.
func New(to *client.Client, c clock.PassiveClock, log *slog.Logger) *Recorder {
	return &Recorder{client: to, clock: c, log: log, waiting: make(chan *corev1.Event, maxWaiting)}
}

// Normal reports an event.
func (r *Recorder) Normal(about corev1.ObjectReference, reason, message string) {
	r.add(about, corev1.EventTypeNormal, reason, message)
}

// Warning reports an event that needs the attention of a user.
func (r *Recorder) Warning(about corev1.ObjectReference, reason, message string) {
	r.add(about, corev1.EventTypeWarning, reason, message)
}

func (r *Recorder) add(about corev1.ObjectReference, kind, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
	}
	now, namespace := metav1.NewTime(r.clock.Now()), about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &corev1.Event{
		// names of objects may be too long, or no names of events
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: component + "-"},
		InvolvedObject: about, Type: kind, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: component}, ReportingController: component,
	}
	select {
	case r.waiting <- event:
	default:
		r.log.Debug("an event was dropped, because too many wait", "reason", reason, "object", about.Name)
	}
}

// Run sends events until the context ends.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case event := <-r.waiting:
			if err := r.client.Create(ctx, client.Events(event.Namespace), event, &corev1.Event{}); err != nil && ctx.Err() == nil {
				r.log.Warn("an event was not reported", "reason", event.Reason, "object", event.InvolvedObject.Name, "error", err)
			}
		}
	}
}
