"""Event files: the same as PyTorch's writer makes, and what TensorBoard reads back is what was given."""

import importlib
import io
import socket
import subprocess
import sys
import wave

import numpy
import pytest
from PIL import Image
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util.tensor_util import make_ndarray

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TIME = 1700000000.0


def writer_class(module):
    return importlib.import_module(f"{module.__name__}.utils.tensorboard").SummaryWriter


@pytest.fixture
def Writer(torch):
    return writer_class(torch)


@pytest.fixture
def generator():
    return numpy.random.default_rng(0)


def events_below(folder):
    """All events by the path of their file's folder, without what depends on clock and host."""
    found = {}
    for path in sorted(folder.rglob("*tfevents*")):
        events = found.setdefault(str(path.parent.relative_to(folder)), [])
        for event in event_file_loader.LegacyEventFileLoader(str(path)).Load():
            event.ClearField("wall_time")
            event.ClearField("source_metadata")
            events.append(event)
    return found


def files_below(folder):
    """What is not an event file, by its path."""
    files = [path for path in folder.rglob("*") if path.is_file() and "tfevents" not in path.name]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def image_of(module, shape, generator_seed=1):
    values = numpy.random.default_rng(generator_seed).uniform(-0.1, 1.1, shape)
    return module.tensor(values.astype(numpy.float32))


def figure(size=(2, 1)):
    from matplotlib.figure import Figure

    drawn = Figure(figsize=size)
    drawn.subplots().plot([1, 3, 2])
    return drawn


PROGRAMS = {
    "scalar": lambda m, w: w.add_scalar("loss", 0.25, 3),
    "scalar_tensor": lambda m, w: w.add_scalar("loss", m.tensor([[1.5]], requires_grad=True), m.tensor(7)),
    "scalar_new": lambda m, w: w.add_scalar("loss", numpy.float32(0.1), 3, new_style=True),
    "scalar_double": lambda m, w: w.add_scalar("loss", 0.1, new_style=True, double_precision=True),
    "scalars": lambda m, w: [w.add_scalars("a/b", {"x": step, "y": -step}, step) for step in range(2)],
    "text": lambda m, w: w.add_text("notes", "# Überschrift\n\n* a", 1),
    "histogram": lambda m, w: w.add_histogram("h", image_of(m, (7, 5)) - 0.5, 2),
    "histogram_integers": lambda m, w: w.add_histogram("h", m.tensor([0, 0, 3, 7]), 2),
    "histogram_bins": lambda m, w: w.add_histogram("h", image_of(m, (7, 5)), bins=5),
    "histogram_auto": lambda m, w: w.add_histogram("h", image_of(m, (7, 5)), bins="auto"),
    "histogram_coarse": lambda m, w: w.add_histogram("h", image_of(m, (70,)), bins=17, max_bins=5),
    "histogram_coarse_default": lambda m, w: w.add_histogram("h", image_of(m, (70,)), max_bins=100),
    "histogram_raw": lambda m, w: w.add_histogram_raw("h", 0, 3, 4, 6.0, 14, [0, 1, 2, 3], [1, 1, 1, 1], 2),
    "image": lambda m, w: w.add_image("i", image_of(m, (3, 4, 5)), 1),
    "image_HWC": lambda m, w: w.add_image("i", image_of(m, (4, 5, 3)), 1, dataformats="HWC"),
    "image_HW": lambda m, w: w.add_image("i", image_of(m, (4, 5)), 1, dataformats="HW"),
    "image_grey": lambda m, w: w.add_image("i", image_of(m, (1, 4, 5)), 1),
    "image_RGBA": lambda m, w: w.add_image("i", image_of(m, (4, 4, 5)), 1),
    "image_bytes": lambda m, w: w.add_image("i", numpy.arange(60, dtype=numpy.uint8).reshape(3, 4, 5), 1),
    "images": lambda m, w: w.add_images("i", image_of(m, (11, 3, 4, 5)), 1),
    "images_NHWC": lambda m, w: w.add_images("i", image_of(m, (2, 4, 5, 1)), 1, dataformats="NHWC"),
    "boxes": lambda m, w: w.add_image_with_boxes(
        "b", image_of(m, (3, 40, 50)), m.tensor([[2.0, 3, 20, 30], [5, 6, 30, 38]]), 1, labels=["cat", "dog"]
    ),
    "boxes_rescaled": lambda m, w: w.add_image_with_boxes(
        "b", image_of(m, (3, 8, 8)), m.tensor([[1, 1, 5, 5]]), rescale=2
    ),
    "figure": lambda m, w: w.add_figure("f", figure(), 1),
    "figures": lambda m, w: w.add_figure("f", [figure(), figure()], 1),
    "audio": lambda m, w: w.add_audio("s", m.linspace(-0.9, 0.9, 50).reshape(1, 50), 1, sample_rate=8000),
    "tensor": lambda m, w: w.add_tensor("t", image_of(m, (2, 3)), 1),
    "pr_curve": lambda m, w: w.add_pr_curve("p", m.tensor([0, 1, 1, 0, 1]), m.tensor([0.1, 0.4, 0.8, 1.0, 0.99]), 1),
    "pr_curve_weights": lambda m, w: w.add_pr_curve(
        "p", numpy.array([True, False, True]), numpy.array([0.2, 0.3, 0.9]), 1, 11, numpy.array([1.0, 2.0, 0.5])
    ),
    "pr_curve_raw": lambda m, w: w.add_pr_curve_raw("p", *numpy.arange(18.0).reshape(6, 3), 1, num_thresholds=3),
    "multiline": lambda m, w: w.add_custom_scalars_multilinechart(["a", "b"], "c", "d"),
    "margin": lambda m, w: w.add_custom_scalars_marginchart(["a", "b", "c"]),
    "layout": lambda m, w: w.add_custom_scalars({"A": {"x": ["Multiline", ["a"]], "y": ["Margin", ["a", "b", "c"]]}}),
    "mesh": lambda m, w: w.add_mesh(
        "m",
        image_of(m, (1, 4, 3)),
        m.tensor([[[255, 0, 0]] * 4]),
        m.tensor([[[0, 1, 2]]]),
        {"camera": {"cls": "PerspectiveCamera", "fov": 75}},
        1,
    ),
    "hparams": lambda m, w: w.add_hparams(
        {"lr": 0.1, "depth": 3, "wide": True, "kind": "adam", "t": m.tensor([2.5]), "none": None},
        {"loss": 0.5, "accuracy": m.tensor(0.75)},
        {"lr": [0.1, 0.2], "kind": ["adam", "sgd"]},
        "run",
        4,
    ),
    "embedding": lambda m, w: [
        w.add_embedding(image_of(m, (5, 3)), list("abcde"), image_of(m, (5, 3, 4, 4)), step, "a/b") for step in (0, 3)
    ],
    "embedding_table": lambda m, w: w.add_embedding(
        numpy.ones((2, 3)), [["a", 1], ["b", 2]], metadata_header=["name", "number"]
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_files_hold_what_pytorchs_hold(program, torch, oracle, tmp_path):
    for module in (torch, oracle):
        with writer_class(module)(tmp_path / module.__name__ / "run") as writer:
            PROGRAMS[program](module, writer)
    ours, theirs = (tmp_path / one.__name__ / "run" for one in (torch, oracle))
    assert files_below(ours) == files_below(theirs)
    got, expected = events_below(ours), events_below(theirs)
    assert got.keys() == expected.keys()
    for folder, events in expected.items():
        assert [str(one) for one in got[folder]] == [str(one) for one in events]
    assert sum(map(len, expected.values())) > 1 or files_below(theirs)  # more than the version of the file


def read(folder):
    everything = {"scalars": 0, "histograms": 0, "images": 0, "audio": 0, "tensors": 0}
    return EventAccumulator(str(folder), size_guidance=everything).Reload()


def test_tensorboard_reads_back_what_was_given(torch, Writer, generator, tmp_path):
    values = generator.standard_normal(1000)
    pixels = generator.integers(0, 256, (5, 6, 3)).astype(numpy.uint8)
    wave_form = numpy.sin(numpy.arange(200) / 5)
    with Writer(tmp_path) as writer:
        for step in range(5):
            writer.add_scalar("loss", 2.0**-step, step, walltime=TIME + step)
        writer.add_histogram("weights", torch.tensor(values), 7)
        writer.add_image("picture", pixels, 8, dataformats="HWC")
        writer.add_text("notes", "so *it* is", 9)
        writer.add_audio("sound", torch.tensor(wave_form), 10, sample_rate=16000)
        writer.add_tensor("raw", torch.tensor([[1.5, 2.5]]), 11)
    found = read(tmp_path)
    assert [(one.wall_time, one.step, one.value) for one in found.Scalars("loss")] == [
        (TIME + step, step, 2.0**-step) for step in range(5)
    ]
    (histogram,) = found.Histograms("weights")
    told = histogram.histogram_value
    assert (histogram.step, told.num, told.min, told.max) == (7, 1000, values.min(), values.max())
    numpy.testing.assert_allclose([told.sum, told.sum_squares], [values.sum(), (values**2).sum()])
    limits = numpy.array(told.bucket_limit)
    below = [(values < limit).sum() for limit in limits[:-1]]
    numpy.testing.assert_array_equal(numpy.cumsum(told.bucket)[:-1], below)
    (picture,) = found.Images("picture")
    assert (picture.step, picture.width, picture.height) == (8, 6, 5)
    shown = numpy.asarray(Image.open(io.BytesIO(picture.encoded_image_string)))
    numpy.testing.assert_array_equal(shown, pixels)
    assert make_ndarray(found.Tensors("notes/text_summary")[0].tensor_proto).tolist() == [b"so *it* is"]
    numpy.testing.assert_array_equal(make_ndarray(found.Tensors("raw")[0].tensor_proto), [[1.5, 2.5]])
    (sound,) = found.Audio("sound")
    with wave.open(io.BytesIO(sound.encoded_audio_string)) as file:
        heard = numpy.frombuffer(file.readframes(200), "<i2") / 32767
    numpy.testing.assert_allclose(heard, wave_form, atol=1 / 32767)
    assert (sound.sample_rate, sound.length_frames) == (16000, 200)


@pytest.mark.beyond  # TensorBoard does not find the bytes (uint8) that PyTorch writes
@pytest.mark.parametrize("kind", ["bool", "uint8", "int32", "int64", "float32", "float64"])
def test_tensors_of_each_dtype_come_back(kind, torch, Writer, tmp_path):
    given = torch.tensor([[0, 1, 5]]).to(getattr(torch, kind))
    with Writer(tmp_path) as writer:
        writer.add_tensor("t", given)
    (event,) = events_below(tmp_path)["."][1:]
    proto = event.summary.value[0].tensor
    assert [one.size for one in proto.tensor_shape.dim] == [1, 3]
    array = make_ndarray(proto)
    assert array.dtype.name == kind
    numpy.testing.assert_array_equal(array, given.numpy())


def test_hyperparameters_come_back(torch, Writer, tmp_path):
    with Writer(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "kind": "sgd"}, {"loss": 0.5}, {"kind": ["sgd", "adam"]}, run_name="one")
    found = read(tmp_path / "one")
    assert found.Scalars("loss")[0].value == 0.5
    content = found.summary_metadata[hparams_metadata.SESSION_START_INFO_TAG].plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert start.hparams["lr"].number_value == 0.1
    assert start.hparams["kind"].string_value == "sgd"
    content = found.summary_metadata[hparams_metadata.EXPERIMENT_TAG].plugin_data.content
    experiment = plugin_data_pb2.HParamsPluginData.FromString(content).experiment
    choices = {
        one.name: [value.string_value for value in one.domain_discrete.values] for one in experiment.hparam_infos
    }
    assert choices == {"lr": [], "kind": ["sgd", "adam"]}
    assert [one.name.tag for one in experiment.metric_infos] == ["loss"]


@pytest.mark.beyond  # PyTorch's needs moviepy
def test_a_video_is_an_animation_of_its_frames(torch, Writer, tmp_path):
    frames = numpy.zeros((3, 4, 3, 8, 8), numpy.uint8)
    for number in range(3):
        for time in range(4):
            frames[number, time, number] = 60 * (time + 1)
    with Writer(tmp_path) as writer:
        writer.add_video("v", torch.tensor(frames), 1, fps=5)
        writer.add_video("float", torch.tensor(frames[:1, :, :1] / 255.0), 1)
    shown = read(tmp_path).Images("v")[0]
    assert (shown.width, shown.height) == (32, 8)  # four places for three pictures
    film = Image.open(io.BytesIO(shown.encoded_image_string))
    assert (film.n_frames, film.info["duration"]) == (4, 200)
    for time in range(4):
        film.seek(time)
        pixels = numpy.asarray(film.convert("RGB"))
        for number, (top, left) in enumerate([(0, 0), (0, 8), (0, 16)]):
            expected = [60 * (time + 1) if channel == number else 0 for channel in range(3)]
            assert (pixels[top : top + 8, left : left + 8] == expected).all()
        assert (pixels[:, 24:] == 0).all()
    film = Image.open(io.BytesIO(read(tmp_path).Images("float")[0].encoded_image_string))
    assert numpy.asarray(film.convert("RGB"))[0, 0].tolist() == [60, 60, 60]


@pytest.mark.beyond
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 7, 8])
def test_films_lie_in_a_grid_as_pytorchs_do(batch, torch, oracle, Writer, tmp_path):
    frames = numpy.random.default_rng(0).uniform(size=(batch, 2, 3, 4, 6)).astype(numpy.float32)
    with Writer(tmp_path) as writer:
        writer.add_video("v", frames, 1)
    film = Image.open(io.BytesIO(read(tmp_path).Images("v")[0].encoded_image_string))
    expected = importlib.import_module("torch.utils.tensorboard._utils")._prepare_video(frames) * 255
    for number, frame in enumerate(expected):
        film.seek(number)
        shown = numpy.asarray(film.convert("RGB"), float)
        assert shown.shape == frame.shape
        assert abs(shown - frame).mean() < 12  # a GIF has 256 colours


# ----------------------------------------------------------------------------------------------------- files and steps
def test_the_default_folder_names_time_host_and_comment(Writer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    writer = Writer(comment="_lr3", filename_suffix=".mine")
    writer.close()
    (folder,) = (tmp_path / "runs").iterdir()
    assert str(folder.relative_to(tmp_path)) == writer.log_dir == writer.get_logdir()
    assert folder.name.endswith(f"_{socket.gethostname()}_lr3")
    (file,) = folder.iterdir()
    assert file.name.endswith(".mine")


def test_purging_hides_later_steps(Writer, tmp_path):
    for purge_step, values in ((None, range(6)), (3, range(3, 5))):
        with Writer(tmp_path, purge_step=purge_step) as writer:
            for step in values:
                writer.add_scalar("loss", step + (100 if purge_step else 0), step)
    found = [(one.step, one.value) for one in read(tmp_path).Scalars("loss")]
    assert found == [(0, 0), (1, 1), (2, 2), (3, 103), (4, 104)]


def test_a_closed_writer_writes_on_in_a_new_file(Writer, tmp_path):
    writer = Writer(tmp_path)
    writer.add_scalar("a", 1, 1)
    writer.close()
    writer.add_scalar("a", 2, 2)
    writer.flush()
    found = [one.summary.value[0].simple_value for one in events_below(tmp_path)["."] if one.summary.value]
    assert sorted(found) == [1, 2]
    writer.close()
    writer.close()
    assert writer.file_writer is None


def test_events_of_ones_own(torch, tmp_path):
    from tensorboard.compat.proto.event_pb2 import Event

    module = importlib.import_module(f"{torch.__name__}.utils.tensorboard")
    writer = module.FileWriter(tmp_path)
    writer.add_event(Event(file_version="mine"), step=4, walltime=TIME)
    writer.close()
    assert writer.get_logdir() == str(tmp_path)
    assert [(one.step, one.file_version) for one in events_below(tmp_path)["."]][1:] == [(4, "mine")]
    assert module.RecordWriter is not None


# ---------------------------------------------------------------------------------------------------------------- graph
def net(torch):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 4)

        def forward(self, x):
            return torch.relu(self.linear(x)) + x

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 4)
            self.blocks = torch.nn.Sequential(Block(), torch.nn.Dropout(0.5), Block())

        def forward(self, features):
            return self.blocks(self.first(features))

    return Net()


def graph_of(torch, Writer, folder, model, inputs):
    with Writer(folder) as writer:
        writer.add_graph(model, inputs)
    return {node.name: node for node in read(folder).Graph().node}


def below(nodes, name):
    """The names of all nodes that one depends on."""
    found, open_ = set(), [name]
    while open_:
        for one in nodes[open_.pop()].input:
            one = one.partition(":")[0]
            if one not in found:
                found.add(one)
                open_.append(one)
    return found


def test_a_graph_has_the_scopes_of_the_modules(torch, Writer, tmp_path):
    model = net(torch)
    nodes = graph_of(torch, Writer, tmp_path, model, torch.ones(2, 3))
    assert {"input/features", "output/output.1"} <= nodes.keys()
    for scope in (
        "Net/Linear[first]/",
        "Net/Sequential[blocks]/Block[0]/Linear[linear]/",
        "Net/Sequential[blocks]/Block[2]/",
    ):
        assert any(name.startswith(scope) for name in nodes), scope
    assert all(module.training for module in model.modules())


@pytest.mark.beyond
def test_a_graph_has_the_operations_edges_and_shapes(torch, Writer, tmp_path):
    nodes = graph_of(torch, Writer, tmp_path, net(torch), torch.ones(2, 3))
    assert {one.partition(":")[0] for node in nodes.values() for one in node.input} <= nodes.keys()
    assert "input/features" in below(nodes, "output/output.1")
    block = "Net/Sequential[blocks]/Block[2]"
    assert nodes["output/output.1"].input == [f"{block}/add"]
    assert nodes[f"{block}/add"].input[0] == f"{block}/relu"
    assert nodes[f"{block}/relu"].input == [f"{block}/Linear[linear]/addmm"]
    assert nodes["Net/Linear[first]/weight"].op == "Parameter"
    shape = nodes[f"{block}/add"].attr["_output_shapes"].list.shape[0]
    assert [one.size for one in shape.dim] == [2, 4]
    parameters = {name for name, node in nodes.items() if node.op == "Parameter"}
    assert parameters <= below(nodes, "output/output.1")
    assert len(parameters) == 6


@pytest.mark.beyond
def test_graphs_of_frozen_models_functions_and_several_inputs(torch, Writer, tmp_path):
    model = net(torch).requires_grad_(False)
    model.blocks[1].eval()
    nodes = graph_of(torch, Writer, tmp_path / "frozen", model, (torch.ones(2, 3),))
    assert "Net/Linear[first]/weight" in below(nodes, "output/output.1")
    assert not any(one.requires_grad for one in model.parameters())
    assert [module for module in model.modules() if not module.training] == [model.blocks[1]]

    def halves(first, second):
        return (first * second).split(1)

    nodes = graph_of(torch, Writer, tmp_path / "function", halves, (torch.ones(2, 2), torch.ones(2)))
    assert below(nodes, "output/output.2") == {"input/first", "input/second", "halves/mul"} | {
        name for name in nodes if "split" in name
    }
    (source,) = nodes["output/output.2"].input
    assert source.endswith(":1")

    embedding = torch.nn.Embedding(5, 3)
    nodes = graph_of(torch, Writer, tmp_path / "integers", embedding, torch.tensor([1, 2]))
    assert below(nodes, "output/output.1") == {"input/input", "Embedding/weight", "Embedding/embedding"}


# --------------------------------------------------------------------------------------------------------------- errors
ERRORS = {
    "scalar of several": lambda m, w: w.add_scalar("a", m.ones(2)),
    "text as a scalar's tensor": lambda m, w: w.add_scalar("a", [1.0]),
    "histogram of nothing": lambda m, w: w.add_histogram("a", m.ones(0)),
    "limits and counts": lambda m, w: w.add_histogram_raw("a", 0, 1, 1, 1, 1, [1, 2], [1]),
    "axes named twice": lambda m, w: w.add_image("a", m.ones(3, 4, 5), dataformats="CHH"),
    "too few axes": lambda m, w: w.add_image("a", m.ones(4, 5)),
    "two axes of sound": lambda m, w: w.add_audio("a", m.ones(2, 5)),
    "hyperparameters in a list": lambda m, w: w.add_hparams([], {}),
    "a list as hyperparameter": lambda m, w: w.add_hparams({"a": [1]}, {}),
    "a domain of another type": lambda m, w: w.add_hparams({"a": 1}, {}, {"a": ["x"]}),
    "margin of two": lambda m, w: w.add_custom_scalars_marginchart(["a", "b"]),
    "labels of other points": lambda m, w: w.add_embedding(m.ones(3, 2), ["a"]),
    "pictures of other points": lambda m, w: w.add_embedding(m.ones(3, 2), None, m.ones(2, 3, 4, 4)),
    "points in a vector": lambda m, w: w.add_embedding(m.ones(3)),
}


@pytest.mark.parametrize("program", ERRORS)
def test_errors_are_of_pytorchs_types(program, torch, oracle, tmp_path):
    kinds = []
    for module in (torch, oracle):
        with writer_class(module)(tmp_path / module.__name__) as writer, pytest.raises(Exception) as caught:  # noqa: PT011
            ERRORS[program](module, writer)
        kinds.append(caught.type)
    assert issubclass(kinds[0], kinds[1]) or kinds == [kinds[0], IndexError]


@pytest.mark.beyond
def test_without_the_package_the_import_says_what_to_install(tmp_path):
    program = "import sys; sys.modules['tensorboard'] = None\nimport clew.utils.tensorboard"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("ModuleNotFoundError: utils.tensorboard: needs the package")
    assert "pip install tensorboard" in result.stderr
    program = "import sys, clew, clew.utils; assert 'tensorboard' not in sys.modules; assert clew.utils.tensorboard"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
