"""The one exception that means "what you gave us cannot be used"."""


class InputError(ValueError):
    """Bad input at a boundary: names what is wrong, the rule, and what was got, in one line."""
