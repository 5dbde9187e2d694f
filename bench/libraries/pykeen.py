"""TransE and ComplEx are trained on a random graph of knowledge."""

import torch
from pykeen.models import ComplEx, TransE
from pykeen.training import SLCWATrainingLoop
from pykeen.triples import TriplesFactory

from bench.drawn import filled, integers


def main():
    triples = torch.stack([integers(12, 60), integers(3, 60), integers(12, 60)], 1).unique(dim=0)
    names = {f"e{i}": i for i in range(12)}, {f"r{i}": i for i in range(3)}
    factory = TriplesFactory(mapped_triples=triples, entity_to_id=names[0], relation_to_id=names[1])
    found = []
    for kind in (TransE, ComplEx):
        model = filled(kind(triples_factory=factory, embedding_dim=8, random_seed=1))
        loop = SLCWATrainingLoop(
            model=model, triples_factory=factory, optimizer=torch.optim.Adam(model.parameters(), lr=0.01)
        )
        found.append(loop.train(factory, num_epochs=2, batch_size=16, use_tqdm=False))
        found.append(model.score_hrt(triples[:4]))
    return found
