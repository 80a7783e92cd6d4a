"""Global counterfactual explanations of graph neural networks through common recourse."""

__version__ = "0.1.0"
