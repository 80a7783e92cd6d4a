"""Where "close" is decided: graph embeddings whose distances stand for graph edit distances."""

from comrecgc.embedding.embedder import Embedder, as_embedder, normalised_distance
from comrecgc.embedding.greed import Greed, load_embedder, save_embedder
from comrecgc.embedding.training import EmbedderTraining, held_out_errors, train_embedder

__all__ = [
    "Embedder",
    "EmbedderTraining",
    "Greed",
    "as_embedder",
    "held_out_errors",
    "load_embedder",
    "normalised_distance",
    "save_embedder",
    "train_embedder",
]
