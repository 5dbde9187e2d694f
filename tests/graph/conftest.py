"""A small network, its loss, and what a page says of a graph."""

import base64
import json
import re
import zlib

import numpy
import pytest

import clew

TYPES = {"B": "u1", "I": "<u4", "i": "<i4", "d": "<f8"}


def read_page(page):
    """What a page knows of its graph, decoded here and not by the code under test."""
    head = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page, re.DOTALL).group(1))
    block = zlib.decompress(base64.b64decode(head["columns"]))
    columns = {
        name: numpy.frombuffer(block, TYPES[code], count, offset) for name, code, offset, count in head["layout"]
    }
    return head, columns


@pytest.fixture
def embedded():
    """``embedded(html)``: the page's head and its columns."""
    return read_page


@pytest.fixture
def mlp():
    clew.manual_seed(0)
    return clew.nn.Sequential(clew.nn.Linear(4, 8), clew.nn.ReLU(), clew.nn.Linear(8, 1))


@pytest.fixture
def loss(mlp):
    return (mlp(clew.ones(3, 4)) ** 2).mean()
