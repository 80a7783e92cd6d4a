"""The tables and figures of the paper, beside what it printed; `comrecgc reproduce` runs them."""

from comrecgc_reproduction.catalogue import ALL, EXPERIMENTS, experiments_of
from comrecgc_reproduction.command import carry_out
from comrecgc_reproduction.results import scale_of
from comrecgc_reproduction.runner import Runner
