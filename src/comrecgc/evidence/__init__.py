"""Reasons to trust a counterfactual, beyond the word of the model that is explained."""

from comrecgc.evidence.panel import Panel, PanelMember, PanelTraining, load_panel, obtain_panel

__all__ = ["Panel", "PanelMember", "PanelTraining", "load_panel", "obtain_panel"]
