package rule

// Expr returns the expression for Prometheus.
func (f Figure) Expr() string { return f.expr }
