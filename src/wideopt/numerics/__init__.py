"""Pure functions on tensors: tangent kernels, growing factors, training, evidence."""
