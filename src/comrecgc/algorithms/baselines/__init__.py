"""Other explainers as sources of counterfactuals."""
