// Package rollouts reads sets of works from a hub and reports their rollouts, by the planner of the manager. It pauses, resumes and
// approves rollouts.
//
// It reads and writes with the permissions of the caller. It reports clusters one by one only to callers who may list works.
package rollouts
