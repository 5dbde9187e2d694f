"""GPT-2, Llama and BERT for the tests that transformers has in common for all models.

The source distribution has `tests/test_modeling_common.py`, but none of the files of single models, nor those that test
generation and exports.
"""

import unittest

from tests.test_configuration_common import ConfigTester
from tests.test_modeling_common import ModelTesterMixin, ids_tensor, random_attention_mask
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaModel,
)

SIZES = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


class Tester:
    """Small inputs and a small configuration, under the names that the common tests ask for."""

    batch_size, seq_length, hidden_size, num_hidden_layers, num_attention_heads, is_training = 3, 7, 32, 2, 4, True
    num_labels, type_sequence_label_size, encoder_seq_length, key_length = 3, 2, 7, 7

    def __init__(self, parent, config):
        self.parent, self.config = parent, config

    def get_config(self):
        return self.config.__class__(**self.config.to_diff_dict())

    def prepare_config_and_inputs_for_common(self):
        tokens = ids_tensor([self.batch_size, self.seq_length], 99)
        return self.get_config(), {"input_ids": tokens, "attention_mask": random_attention_mask(tokens.shape)}


class Common(ModelTesterMixin):
    """What the three have in common."""

    pipeline_model_mapping = {}

    def setUp(self):
        self.model_tester = Tester(self, self.config)
        self.config_tester = ConfigTester(self, config_class=type(self.config), hidden_size=32)

    def test_config(self):
        self.config_tester.run_common_tests()


class GPT2Test(Common, unittest.TestCase):
    all_model_classes = (GPT2Model, GPT2LMHeadModel)
    config = GPT2Config(
        vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=98, eos_token_id=98, pad_token_id=98
    )


class LlamaTest(Common, unittest.TestCase):
    all_model_classes = (LlamaModel, LlamaForCausalLM)
    config = LlamaConfig(**SIZES, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0)


class BertTest(Common, unittest.TestCase):
    all_model_classes = (BertModel, BertForMaskedLM, BertForSequenceClassification)
    config = BertConfig(**SIZES, **WITHOUT_DROPOUT, max_position_embeddings=64, num_labels=3)
