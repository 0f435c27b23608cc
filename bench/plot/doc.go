// Package plot draws charts as SVG.
//
// It owns how a chart looks: one picture for light and for dark screens, every line named where it ends, no colour that
// alone tells two apart. It refuses to know what is drawn. The invariant: the same chart gives the same bytes, so that a
// picture in the repository changes only with its figures.
package plot
