package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/berth-project/berth/engine/fleet"
)

// write is a change that a page offers, as the query of the page that confirms it has it.
type write struct {
	// Action is accept, deny, pause, resume or approve.
	Action string
	// Cluster is the cluster to accept or deny; Set, Placement and Group are of a rollout.
	Cluster          string
	Set              fleet.Key
	Placement, Group string
}

// writeParameters are the parameters of a change.
func writeParameters() []string {
	return []string{"action", "cluster", "namespace", "set", "placement", "group"}
}

// parseWrite reads a change.
func parseWrite(query url.Values) (write, error) {
	out := write{
		Action: query.Get("action"), Cluster: query.Get("cluster"), Set: fleet.Key{Namespace: query.Get("namespace"), Name: query.Get("set")},
		Placement: query.Get("placement"), Group: query.Get("group"),
	}
	switch out.Action {
	case "accept", "deny":
		if out.Cluster == "" {
			return write{}, badRequest("the parameter cluster is missing")
		}
	case "pause", "resume", "approve":
		if out.Set.Namespace == "" || out.Set.Name == "" {
			return write{}, badRequest("the parameters namespace and set are missing")
		}
		if out.Action == "approve" && out.Group == "" {
			return write{}, badRequest("the parameter group is missing")
		}
	default:
		return write{}, badRequest("the action %q is unknown: it is accept, deny, pause, resume or approve", out.Action)
	}
	return out, nil
}

// confirmation is the data of the page that confirms a write.
type confirmation struct {
	write

	// Verb is the text of the button.
	Question, Consequence, Command, Back, Verb string
	// Done and Error are the outcome; both are empty before the write.
	Done, Error string
}

func (w write) confirmation(session *Session) confirmation {
	out := confirmation{write: w}
	switch w.Action {
	case "accept":
		out.Verb, out.Question = "Accept", "Accept the cluster "+w.Cluster+"?"
		out.Consequence = "Its agent gets its permissions on the hub, and placements may select it."
	case "deny":
		out.Verb, out.Question = "Deny", "Deny the cluster "+w.Cluster+"?"
		out.Consequence = "Its agent loses its permissions on the hub, and placements select it no more. Works stay on it, and if it is " +
			"deleted then, its workloads stay on the member."
	case "pause":
		out.Verb, out.Question = "Pause", "Pause the rollout of "+w.Set.String()+"?"
		out.Consequence = "No further cluster starts. Clusters that have started continue."
	case "resume":
		out.Verb, out.Question = "Resume", "Resume the rollout of "+w.Set.String()+"?"
		out.Consequence = "Further clusters start, as the strategy allows."
	case "approve":
		out.Verb, out.Question = "Approve", fmt.Sprintf("Approve the group %s in the rollout of %s?", w.Group, w.Set)
		out.Consequence = "The clusters of the group start, as the strategy allows."
	}
	if w.Cluster != "" {
		out.Command, out.Back = session.kubectl(w.Action, w.Cluster), "/clusters/"+url.PathEscape(w.Cluster)
		return out
	}
	words := []string{"rollout", w.Action, w.Set.Name, "-n", w.Set.Namespace}
	if w.Placement != "" {
		words = append(words, "--placement", w.Placement)
		out.Consequence += " Only the clusters of the placement " + w.Placement + " are concerned."
	}
	if w.Action == "approve" {
		words = append(words, "--group", w.Group)
	}
	out.Command, out.Back = session.kubectl(words...), "/rollouts/"+url.PathEscape(w.Set.Namespace)+"/"+url.PathEscape(w.Set.Name)
	return out
}

// confirmPage names what a write does before it is done.
func confirmPage(_ context.Context, v *view) (*page, error) {
	asked, err := parseWrite(v.query)
	if err != nil {
		return nil, err
	}
	if v.session.Writer == nil {
		return nil, badRequest("this console cannot write: it reads files, or is read-only")
	}
	if _, known := v.state.Cluster(asked.Cluster); asked.Cluster != "" && !known {
		return nil, ErrNotFound
	}
	shown := asked.confirmation(&v.session)
	return &page{Title: shown.Question, Command: shown.Command, Sections: []section{{ID: "confirm", data: shown, fixed: true}}}, nil
}

// serveWrite does what a user confirmed.
func (s *Server) serveWrite(w http.ResponseWriter, r *http.Request, session Session) error {
	if session.Writer == nil {
		return badRequest("this console cannot write: it reads files, or is read-only")
	}
	if err := r.ParseForm(); err != nil {
		return badRequest("the form cannot be read: %v", err)
	}
	asked, err := parseWrite(only(r.PostForm, writeParameters()))
	if err != nil {
		return err
	}
	shown := asked.confirmation(&session)
	var done string
	if slices.Contains([]string{"accept", "deny"}, asked.Action) {
		done, err = session.Writer.Accept(r.Context(), asked.Cluster, asked.Action == "accept")
	} else {
		done, err = session.Writer.Roll(r.Context(), RolloutChange{
			Set: asked.Set, Placement: asked.Placement, Action: asked.Action,
			Group: asked.Group,
		})
	}
	p := &page{Title: "Done", Command: shown.Command}
	if shown.Done = done; err != nil {
		shown.Done, shown.Error = "", err.Error()
		p.Title, p.code = "Not done", http.StatusConflict
	}
	p.Sections = []section{{ID: "confirm", data: shown, fixed: true}}
	return s.writePage(w, session, nil, p)
}
