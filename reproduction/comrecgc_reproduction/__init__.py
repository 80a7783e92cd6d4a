"""comrecgc_reproduction."""

from comrecgc_reproduction.catalogue import ALL, EXPERIMENTS, experiments_of
from comrecgc_reproduction.cells import scale_of
from comrecgc_reproduction.laboratory import Laboratory
