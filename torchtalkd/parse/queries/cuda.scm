; Added to cpp.scm for the CUDA grammar.
(call_expression function: (_) @name (kernel_call_syntax) @arguments)
