"""The steps of an explanation, one file each: settings, candidates, selection, verification, assembly, application."""
