package rule

// Expr returns the expression for Prometheus.
func (f Figure) Expr() string { return f.expr }

// Metric returns the name of the metric that the figure reads.
func (f Figure) Metric() string { return f.metric }
