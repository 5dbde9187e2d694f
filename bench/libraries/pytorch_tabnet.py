"""TabNet is fitted to a table."""

from pytorch_tabnet.tab_model import TabNetClassifier

from bench.drawn import array


def main():
    points = array(64, 4)
    classes = (points[:, 0] + points[:, 1] > 0).astype("int64")
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0, device_name="cpu")
    model.fit(points, classes, max_epochs=2, batch_size=32, virtual_batch_size=16, num_workers=0)
    return model.history["loss"], model.predict_proba(points[:4]), model.feature_importances_
