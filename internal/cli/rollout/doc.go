// Package rollout has the commands of rollouts: plan, status, pause, resume, approve, history and undo.
//
// In go a command line, files and sets of works on a hub; out come plans, reports, a live view, and patches of sets. Package rollouts reads
// and decides. A command never writes works: it changes the set, and the manager rolls the change out.
package rollout
