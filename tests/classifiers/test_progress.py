from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from comrecgc.classifiers import TrainingBar, train_classifier
from tests.classifiers.data import marked_dataset
from tests.classifiers.test_training import QUICK


def test_the_bar_shows_epoch_loss_and_accuracy() -> None:
    text = io.StringIO()
    with TrainingBar(Console(file=text, force_terminal=True, width=120)) as bar:
        train_classifier(marked_dataset(), replace(QUICK, epochs=3), progress=bar)
    shown = text.getvalue()
    assert "epoch 3/3" in shown
    assert "loss 0." in shown
    assert "validation " in shown
