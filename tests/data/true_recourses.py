"""The edits that cure a planted molecule, as chemists know them."""

from __future__ import annotations

from comrecgc.data.planted import C
from comrecgc.graphs import Edit, EditKind
from comrecgc.molecules import FunctionalGroup


def true_recourses(toxicophore: FunctionalGroup) -> dict[str, tuple[Edit, ...]]:
    """Edits that remove a toxic group and leave a valid molecule, by what they do.

    One of them for every toxic group of a planted molecule, in any combination, makes it harmless.
    """
    remove, relabel, cut = EditKind.REMOVE_NODE, EditKind.RELABEL, EditKind.REMOVE_EDGE
    match toxicophore:
        case FunctionalGroup("nitro", (nitrogen, first, second)):
            return {
                "remove the nitro group": (Edit(remove, first), Edit(remove, second), Edit(remove, nitrogen)),
                "make it a carboxylic acid": (Edit(relabel, nitrogen, C),),
            }
        case FunctionalGroup("epoxide", (oxygen, first, second)):
            return {
                "open the ring": (Edit(cut, first, oxygen),),
                "open the ring on the other side": (Edit(cut, second, oxygen),),
                "make it a cyclopropane": (Edit(relabel, oxygen, C),),
                "remove the oxygen": (Edit(cut, first, oxygen), Edit(remove, oxygen)),
            }
        case FunctionalGroup("nitrosamine", (_, nitrogen, oxygen)):
            return {
                "remove the nitroso group": (Edit(remove, oxygen), Edit(remove, nitrogen)),
                "make it a formamide": (Edit(relabel, nitrogen, C),),
            }
    raise AssertionError(f"not a toxicophore: {toxicophore}")
