"""Row 7: the same script with the same seed gives PyTorch's numbers, step by step."""

import importlib
import itertools


def test_a_training_script_gives_pytorchs_loss_curve(agree):
    def program(m):
        data = importlib.import_module(f"{m.__name__}.utils.data")
        nn = m.nn
        m.manual_seed(0)
        x = m.rand(60, 8)
        y = m.randint(0, 3, (60,))
        train, test = data.random_split(data.TensorDataset(x, y), [48, 12])
        model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
        optimizer = m.optim.AdamW(model.parameters(), lr=0.01)
        schedule = m.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
        criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        curve = []
        for _ in range(4):
            model.train()
            for batch, labels in data.DataLoader(train, batch_size=16, shuffle=True):
                optimizer.zero_grad()
                loss = criterion(model(batch), labels)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                curve.append(loss.item())
            schedule.step()
            model.eval()
            with m.no_grad():
                curve += [criterion(model(batch), labels).item() for batch, labels in data.DataLoader(test)]
        return curve, model.state_dict()

    agree(program, relative=5e-4, absolute=5e-4)


def test_a_recurrent_script_gives_pytorchs_loss_curve(agree):
    def program(m):
        m.manual_seed(0)
        embed, cell, head = m.nn.Embedding(7, 5), m.nn.LSTMCell(5, 6), m.nn.Linear(6, 7)
        parameters = [*embed.parameters(), *cell.parameters(), *head.parameters()]
        optimizer = m.optim.SGD(parameters, lr=0.5, momentum=0.9, nesterov=True)
        text = m.randint(0, 7, (12, 4))
        curve = []
        for _ in range(6):
            optimizer.zero_grad()
            state, loss = None, 0
            for now, following in itertools.pairwise(text):
                state = cell(embed(now), state)
                loss = loss + m.nn.functional.cross_entropy(head(state[0]), following)
            loss.backward()
            optimizer.step()
            curve.append(loss)
        return curve, parameters

    agree(program, relative=2e-4, absolute=2e-4)
