"""The graph, inspected."""

import clew

x = clew.ones(3, requires_grad=True)
loss = (x * x).sum()
told = clew.explain(loss)
for node in told.nodes:
    place = node.made_at.short if node.made_at else "?"
    print(node.name, place, sum(slot.nbytes for slot in node.saved))
loss.backward()
print(clew.graph.ledger(loss).totals, told.hidden)
